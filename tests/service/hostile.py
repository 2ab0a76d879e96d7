"""Bodies that no honest caller sends: for every request, and in every field of it."""

import json

DECIDE, REWARDS = "/v1/campaigns/films/decide", "/v1/campaigns/films/rewards"
HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe",
    b'{"context": "\xc3\x28"}',
    b'{"context": "\\ud800"}',
    b"[" * 100_000,
    b'{"instance":' * 50_000,
    b'{"context": NaN}',
    b'{"context": "tv", "context2": 1}',
    json.dumps({"context": "x" * 1_000_000}).encode(),
]
VALUES = [
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"-1e999",
    b"1" * 400,
    b'"1"',
    b"true",
    b"null",
    b"[]",
    b"{}",
    b'"\'; DROP TABLE decisions; --"',
    b'"<script>alert(1)</script>"',
    b'"\\u0000"',
    b'"../../../etc/passwd"',
    b'"%s%n"',
    b'""',
    b'" "',
    b'"\xf0\x9f\x98\x80"',
]
FIELDS = {
    DECIDE: {"context": b'"tv"', "request_id": b'"r"', "excluded_arms": b'["guest"]'},
    REWARDS: {"decision_id": b'"x"', "reward": b"0.5"},
    "/v1/campaigns": {
        "name": b'"other"',
        "floors": b'{"a": 0.1}',
        "contexts": b'["x"]',
        "reward_bounds": b"[0, 1]",
        "noise_scale": b"1.0",
        "default_reward": b"0.5",
        "reward_window_seconds": b"60",
        "exploration_budget": b"0.5",
        "admit_contexts": b"1",
    },
    "/v1/campaigns/films/changes": {"change": b'"set_floor"', "name": b'"guest"', "floor": b"0.1"},
    "/v1/campaigns/films/what-if": {"floors": b'{"guest": 0.2}'},
}


def hostile_bodies():
    """All of them, each with the path that it goes to."""
    bodies = [(path, body) for path in FIELDS for body in HOSTILE]
    for path, fields in FIELDS.items():
        for field in fields:
            for value in VALUES:
                parts = {**fields, field: value}
                text = b",".join(b'"%s":%s' % (name.encode(), part) for name, part in parts.items())
                bodies.append((path, b"{" + text + b"}"))
                if value in (b"NaN", b"Infinity", b"1e999", b'"1"', b"true") and field == "floors":
                    text = text.replace(b'"floors":' + value, b'"floors":{"guest":' + value + b"}")
                    bodies.append((path, b"{" + text + b"}"))
    return bodies
