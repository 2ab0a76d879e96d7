"""The setting in one picture: visitors ask for genres, the platform chooses, providers have floors."""

from html import escape

GENRES = (("action", "#0072B2"), ("romance", "#CC79A7"), ("comedy", "#E69F00"))
# Of each provider: what it earns in each genre, and its floor, in pixels.
PROVIDERS = (("provider 1", (58, 0, 34), 44), ("provider 2", (0, 26, 0), 26), ("provider 3", (0, 10, 24), 34))
ALT = (
    "Visitors ask the platform for action, romance or comedy; for each it chooses one of three providers. "
    "Each provider's revenue, summed over genres, is a bar; a dashed line marks its floor. "
    "The first earns more than its floor, the others exactly theirs."
)


def _visitors() -> str:
    return "".join(
        f'<rect x="4" y="{38 + 50 * place}" width="82" height="28" rx="14" fill="{colour}" fill-opacity=".18" '
        f'stroke="{colour}"/><text x="45" y="{57 + 50 * place}" text-anchor="middle">{escape(genre)}</text>'
        f'<path d="M88 {52 + 50 * place} L134 {86 + 16 * place}" stroke="{colour}" stroke-width="2"/>'
        for place, (genre, colour) in enumerate(GENRES)
    )


def _providers() -> str:
    parts = []
    for place, (name, earned, floor) in enumerate(PROVIDERS):
        top = 40 + 50 * place
        parts.append(f'<text x="274" y="{top + 10}">{escape(name)}</text>')
        start = 274
        for width, (_, colour) in zip(earned, GENRES, strict=True):
            parts.append(f'<rect x="{start}" y="{top + 15}" width="{width}" height="12" fill="{colour}"/>')
            start += width
            if width:
                colour_at = [pair[1] for pair in GENRES].index(colour)
                parts.append(
                    f'<path d="M222 {88 + 14 * colour_at} L268 {top + 21}" stroke="{colour}" stroke-width="2"/>'
                )
        where = 274 + floor
        parts.append(f'<path d="M{where} {top + 11} v20" stroke="#222" stroke-width="2" stroke-dasharray="3 2"/>')
        floor_name = f'λ<tspan dy="3" font-size="9">{place + 1}</tspan>'
        parts.append(f'<text x="{max(where, start) + 6}" y="{top + 26}">{floor_name}</text>')
    return "".join(parts)


PICTURE = (
    f'<svg viewBox="0 0 400 196" role="img" aria-label="{escape(ALT)}" fill="none" '
    'font-family="system-ui, Segoe UI, Roboto, DejaVu Sans, sans-serif" font-size="12">'
    '<g fill="#222" stroke="none"><text x="4" y="24" font-weight="600">visitors (contexts)</text>'
    '<text x="150" y="24" font-weight="600">platform</text>'
    '<text x="274" y="24" font-weight="600">revenues, floors</text></g>'
    f'<g fill="#222">{_visitors()}{_providers()}</g>'
    '<rect x="136" y="66" width="84" height="70" rx="8" fill="#f1f6fa" stroke="#555"/>'
    '<g fill="#222" text-anchor="middle"><text x="178" y="97">chooses</text><text x="178" y="113">a provider</text></g>'
    "</svg>"
)
