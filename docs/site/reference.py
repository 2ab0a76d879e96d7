"""The reference of every public name, from its docstring and its source, as pages of Markdown for Sphinx."""

import ast
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import arcbandit
from arcbandit.policies.base import Policy

FENCE = "`" * 3
MOST_FIELDS = 4  # of a class that is shown with its fields as parameters; larger ones are made by the library


class Topic(NamedTuple):
    """A page of the reference."""

    name: str
    title: str
    about: str
    module: str  # that users import from
    homes: tuple[str, ...] = ()  # where names of the package are defined that belong to it


PACKAGE = "arcbandit"
TOPICS = (
    Topic(
        "planning",
        "Instances and plans",
        "Problems with known means, their best plans, and how hard they are to learn.",
        PACKAGE,
        (
            "arcbandit.instance",
            "arcbandit.floors",
            "arcbandit.planning",
            "arcbandit.oracle",
            "arcbandit.limits",
            "arcbandit.experiments",
        ),
    ),
    Topic("policies", "Policies", "Rules that learn while they decide.", PACKAGE, ("arcbandit.policies",)),
    Topic("simulation", "Simulations", "Policies at play, and what is known then.", PACKAGE, ("arcbandit.simulation",)),
    Topic("logs", "Logs", "From a log to advice, policies and estimates.", PACKAGE, ("arcbandit.logs",)),
    Topic("pictures", "Pictures and tables", "Results, drawn and written.", PACKAGE, ("arcbandit.report",)),
    Topic("errors", "Errors and warnings", "All that is raised on purpose.", PACKAGE, ("arcbandit.errors",)),
    Topic("package", "The package itself", "", PACKAGE, ("arcbandit.version",)),
    Topic("rules", "For authors of policies", "", "arcbandit.rules"),
    Topic("checks", "What every policy must pass", "", "arcbandit.checks"),
    Topic("client", "Clients of the service", "", "arcbandit.client"),
)


def names_of(topic: Topic) -> list[str]:
    """The public names on the page of a topic."""
    if topic.module != PACKAGE:
        module = importlib.import_module(topic.module)
        return sorted(getattr(module, "__all__", None) or _own_functions(module), key=str.lower)
    return [name for name in sorted(arcbandit.__all__, key=str.lower) if topic_of(name) == topic]


def topic_of(name: str) -> Topic | None:
    """On which page a name of the package stands; None for a module, which has a page of its own."""
    home = arcbandit._HOME[name]
    if home == PACKAGE:
        return None
    for topic in TOPICS:
        if any(home == known or home.startswith(f"{known}.") for known in topic.homes):
            return topic
    raise LookupError(f"{name} of {home} has no page in the reference: add its home to a topic.")


def _own_functions(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def reference_pages() -> dict[str, str]:
    """The text of every page of the reference, by address."""
    pages = {f"reference/{topic.name}": page_of(topic) for topic in TOPICS}
    lines = [
        "# Python reference\n",
        "Every public name, from its docstring, by topic; {ref}`all names with their members <genindex>`, by letter. "
        "Names are imported from `arcbandit`, unless the page says otherwise.\n",
    ]
    for topic in TOPICS:
        lines += [f"## [{topic.title}]({topic.name}.md)\n", "| | |", "|---|---|"]
        for name in names_of(topic):
            summary = _cell(_first_sentence(getattr(importlib.import_module(topic.module), name)))
            lines.append(f"| {{py:obj}}`{name} <{topic.module}.{name}>` | {summary} |")
        lines.append("")
    inside = "\n".join(topic.name for topic in TOPICS)
    lines.append(f"{FENCE}{{toctree}}\n:hidden:\n\n{inside}\n{FENCE}")
    return pages | {"reference/index": "\n".join(lines)}


def page_of(topic: Topic) -> str:
    """One page of the reference."""
    module = importlib.import_module(topic.module)
    lines = [f"# {topic.title}\n", f"{topic.about}\n" if topic.about else ""]
    if topic.module != PACKAGE:
        lines.append(f"{markdown_of(inspect.getdoc(module) or '')}\n")
    lines.append(f"{FENCE}{{py:currentmodule}} {topic.module}\n{FENCE}\n")
    lines += [entry_of(name, getattr(module, name)) for name in names_of(topic)]
    return "\n".join(lines)


def entry_of(name: str, value: Any) -> str:
    """The entry of a public name."""
    value = getattr(value, "py_func", value)
    if isinstance(value, type) and issubclass(value, BaseException):
        return _directive("py:exception", name, [*_bases(value), markdown_of(_doc(value)), *_members(value)])
    if isinstance(value, type):
        return _class_entry(name, value)
    if inspect.isroutine(value):
        return _directive("py:function", f"{name}{signature_of(value)}", [markdown_of(_doc(value))])
    return _directive("py:data", name, [_comment_of(name)], {"value": repr(value)})


def _class_entry(name: str, kind: type) -> str:
    made_by_name = name + ("" if issubclass(kind, enum.Enum) else signature_of(kind))
    parts = [*_bases(kind), markdown_of(_doc(kind))]
    dials = getattr(kind, "dials", ()) if issubclass(kind, Policy) and kind is not Policy else ()
    if dials:
        parts.append("\n".join(["| dial | default | meaning |", "|---|---|---|", *map(_dial_row, dials)]))
    return _directive("py:class", made_by_name, [*parts, *_members(kind)])


def _dial_row(dial: Any) -> str:
    default = f"{dial.default:.4g}" if isinstance(dial.default, float) else str(dial.default)
    return f"| `{dial.name}` | {default} | {_cell(dial.meaning)} |"


def _bases(kind: type) -> list[str]:
    public = [base for base in kind.__mro__[1:] if _public_name(base)]
    return [f"Inherits from {{py:obj}}`{_public_name(public[0])}`."] if public else []


def _public_name(kind: type) -> str | None:
    known = kind.__name__ in arcbandit.__all__ and getattr(arcbandit, kind.__name__) is kind
    return f"arcbandit.{kind.__name__}" if known else None


def _members(kind: type) -> list[str]:
    """Fields, properties and methods that are new here or come from a class that is not public itself."""
    inherited = {name for base in kind.__mro__[1:] if _public_name(base) for name in _names_in(base)}
    found = dict(_enum_members(kind) if issubclass(kind, enum.Enum) else _fields(kind))
    for name in _names_in(kind):
        value = inspect.getattr_static(kind, name)
        if name in inherited or name.startswith("_"):
            continue
        doc = _doc(getattr(value, "func", value))
        if isinstance(value, property) or type(value).__name__ == "cached_property":
            getter = value.fget if isinstance(value, property) else value.func
            options = {"type": returned} if (returned := _returned(getter)) else {}
            found[name] = _directive("py:property", name, [markdown_of(doc)], options)
        elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            if not _doc(function) or hasattr(function, "py_func") or _is_kernel(function):
                continue
            flag = {"classmethod": ""} if isinstance(value, classmethod) else {}
            bound = signature_of(function, bound=not isinstance(value, staticmethod))
            found[name] = _directive("py:method", f"{name}{bound}", [markdown_of(_doc(function))], flag)
    return list(found.values())


def _is_kernel(function: Any) -> bool:
    return function.__name__ in ("allocate", "learn") and "learner" in inspect.signature(function).parameters


def _names_in(kind: type) -> list[str]:
    """Names defined by a class or a base of this library, in the order of the source."""
    found: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("arcbandit"):
            found |= dict.fromkeys(vars(base))
    return list(found)


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    """Annotated fields, whose comments in the source say what they are."""
    public = [base for base in kind.__mro__[1:] if _public_name(base)]
    inherited = {name for base in public for name in vars(base).get("__annotations__", ())}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("arcbandit"):
            continue
        tree, lines = _parsed(base)
        for statement in tree.body[0].body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            name = statement.target.id
            if name.startswith("_") or (base is not kind and name in inherited):
                continue
            written = _annotation(statement.annotation)
            if written.startswith("ClassVar"):
                continue
            comment = _trailing_comment(lines, statement)
            yield name, _directive("py:attribute", name, [_sentence(comment)], {"type": written})


def _enum_members(kind: type) -> Iterator[tuple[str, str]]:
    tree, lines = _parsed(kind)
    for statement in tree.body[0].body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            comment = _sentence(_trailing_comment(lines, statement))
            yield name, _directive("py:attribute", name, [comment], {"value": ast.unparse(statement.value)})


def _parsed(kind: Any) -> tuple[ast.Module, list[str]]:
    source = textwrap.dedent(inspect.getsource(kind))
    return ast.parse(source), source.splitlines()


def _trailing_comment(lines: list[str], statement: ast.stmt) -> str:
    end = lines[(statement.end_lineno or statement.lineno) - 1][statement.end_col_offset or 0 :]
    return end.partition("#")[2].strip()


def _sentence(words: str) -> str:
    if not words:
        return ""
    first = words.partition(" ")[0].rstrip(",;:")
    capital = first.isalpha() and len(first) > 1  # not a symbol, such as p_c
    ended = words if words.endswith((".", "?")) else f"{words}."
    return markdown_of(ended[0].upper() + ended[1:] if capital else ended)


def _comment_of(name: str) -> str:
    """The comment beside a constant of the package."""
    module = importlib.import_module(arcbandit._HOME[name]) if name in arcbandit._HOME else None
    if module is None:
        return ""
    for line in inspect.getsource(module).splitlines():
        if line.startswith(f"{name} ="):
            return _sentence(line.partition("#")[2].strip())
    return ""


def signature_of(value: Any, *, bound: bool = False) -> str:
    """The parameters as the source has them, without those that only serve to refuse misspelt ones."""
    if isinstance(value, type) and issubclass(value, Policy) and value is not Policy:
        return "(revenue_floors=None, context_probabilities=None, **settings)"
    function = _maker(value) if isinstance(value, type) else value
    if function is None:
        return _from_fields(value)
    try:
        tree, _ = _parsed(inspect.unwrap(function))
    except (OSError, TypeError):
        return ""
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    arguments = definition.args
    if bound or isinstance(value, type):
        (arguments.posonlyargs or arguments.args).pop(0)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None and argument.annotation is not None:
            argument.annotation = ast.parse(_annotation(argument.annotation), mode="eval").body
    if arguments.kwarg is not None and _refuses(arguments.kwarg):
        arguments.kwarg = None
    returned = "" if isinstance(value, type) or definition.returns is None else f" -> {_annotation(definition.returns)}"
    return f"({ast.unparse(arguments)}){returned}"


def _from_fields(kind: type) -> str:
    """The parameters of a small class that is made from its fields."""
    statements = [one for one in _parsed(kind)[0].body[0].body if isinstance(one, ast.AnnAssign)]
    if not statements or len(statements) > MOST_FIELDS or not hasattr(kind, "__match_args__"):
        return ""
    written = (
        f"{ast.unparse(one.target)}: {_annotation(one.annotation)}{f' = {ast.unparse(one.value)}' if one.value else ''}"
        for one in statements
    )
    return f"({', '.join(written)})"


def _refuses(argument: ast.arg) -> bool:
    return argument.annotation is not None and ast.unparse(argument.annotation) == "Never"


def _maker(kind: type) -> Any:
    """The function that makes an object: what its class, or the nearest base of ours, has for it."""
    for base in kind.__mro__:
        for name in ("__init__", "__new__"):
            made = vars(base).get(name)
            ours = inspect.isfunction(made) and made.__module__.startswith("arcbandit")
            if ours and base.__module__.startswith("arcbandit") and _has_source(made):
                return made
    return None


def _has_source(function: Any) -> bool:
    try:
        inspect.getsource(function)
    except (OSError, TypeError):
        return False
    return True


def _annotation(node: ast.expr) -> str:
    """An annotation as written, without the quotes of forward references."""
    written = ast.unparse(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        written = node.value
    return re.sub(r"'([A-Za-z_][\w.\[\], |]*)'", r"\1", written) if "Literal" not in written else written


def _returned(function: Any) -> str:
    try:
        definition = _parsed(inspect.unwrap(function))[0].body[0]
    except (OSError, TypeError):
        return ""
    returns = getattr(definition, "returns", None)
    return _annotation(returns) if returns is not None else ""


def _doc(value: Any) -> str:
    return inspect.cleandoc(value.__doc__) if getattr(value, "__doc__", None) else ""


def _first_sentence(value: Any) -> str:
    value = getattr(value, "py_func", value)
    if not (isinstance(value, type) or inspect.isroutine(value)):
        return f"`{value!r}`"
    paragraph = " ".join(_doc(value).partition("\n\n")[0].split())
    found = re.match(r"(.+?[.:;])(?:\s|$)", paragraph)
    return markdown_of(found.group(1).rstrip(":;") if found else paragraph)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def markdown_of(doc: str) -> str:
    """A docstring as Markdown: examples become blocks, and what would be markup by accident does not."""
    blocks = re.split(r"\n\s*\n", doc.strip("\n"))
    written: list[str] = []
    example = False
    for block in blocks:
        lines = block.splitlines()
        if lines and lines[0].lstrip().startswith(">>> "):
            code = textwrap.dedent(block)
            if example:  # one example, told in several blocks
                written[-1] = f"{written[-1][: -len(FENCE)]}\n{code}\n{FENCE}"
            else:
                written.append(f"{FENCE}python\n{code}\n{FENCE}")
            example = True
            continue
        example = False
        place = next((number for number, line in enumerate(lines) if line.lstrip().startswith(">>> ")), None)
        if place is not None:
            written += [
                _prose("\n".join(lines[:place])),
                f"{FENCE}python\n{textwrap.dedent(chr(10).join(lines[place:]))}\n{FENCE}",
            ]
            example = True
        elif lines and all(line.startswith("    ") for line in lines):
            written.append(f"{FENCE}text\n{textwrap.dedent(block)}\n{FENCE}")
        else:
            written.append(_prose(block))
    return "\n\n".join(written)


def _prose(text: str) -> str:
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(_code(part) if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"(?<!^)(?<!\n)([*<\[\]])", r"\\\1", text)


def _code(part: str) -> str:
    words = part.strip("`")
    name = words.removeprefix("arcbandit.").partition("(")[0]
    if name in arcbandit.__all__ and words in (name, f"arcbandit.{name}", f"{name}()"):
        return f"{{py:obj}}`{words} <arcbandit.{name}>`"
    return f"`{words}`"


def _directive(kind: str, signature: str, parts: list[str], options: dict[str, str] | None = None) -> str:
    """A directive of Sphinx, with as many colons as keep those inside apart."""
    body = "\n\n".join(part for part in parts if part)
    deepest = max((len(found) for found in re.findall(r"^(:{3,})\{", body, re.MULTILINE)), default=2)
    fence = ":" * (deepest + 1)
    given = "".join(f":{name}: {value}\n" for name, value in (options or {}).items())
    return f"{fence}{{{kind}}} {' '.join(signature.split())}\n{given}\n{body}\n{fence}\n"
