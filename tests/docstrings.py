"""Docstrings agree with signatures: what `make lint` runs beside ruff, as `python -m tests.docstrings`.

Our docstrings speak of arguments in sentences, by their names in backticks. pydoclint and the like read sections
("Args:", "Parameters") alone and would find nothing to compare, so this reads the sentences:

- A name in backticks in the docstring of something public is an argument, a member of its class or of what it returns,
  a name of its module or a public one, a dial, an extra, or a reference. So an argument that was renamed or removed
  cannot linger. Elsewhere, the name must occur somewhere in the package.
- Every optional argument of a public function is spoken of: in its docstring, or in that of a public function which the
  docstring refers to.
"""

import ast
import builtins
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "arcbandit"
QUOTED = re.compile(r"(?<!`)`([A-Za-z_]\w*)(?:\(\))?`(?!`)")
EXPORT = re.compile(r"^from (\S+) import (\w+) as \w+$", re.MULTILINE)
# Public though not listed in __init__.pyi.
MORE_PUBLIC = ("AsyncClient", "Client", "LocalDecider", "LocalDecision", "Retries", "check_policy", "checks_of")
# Of others, of which no line of the package is the definition.
FOREIGN = {"begin", "cuda", "forceinline", "info", "njit", "RequestResponseCycle", "_repr_html_"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Finding:
    """A docstring that does not agree with its signature."""

    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


def arguments(function: Function) -> set[str]:
    """The names of all arguments."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {argument.arg for argument in every if argument is not None}


def optional_arguments(function: Function) -> set[str]:
    """The names of the arguments that have a default."""
    given = function.args
    positional = [*given.posonlyargs, *given.args][len(given.posonlyargs) + len(given.args) - len(given.defaults) :]
    named = [one for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is not None]
    return {argument.arg for argument in (*positional, *named)}


def assigned(body: list[ast.stmt]) -> set[str]:
    """The names that statements define or import."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, Documented):
            found.add(statement.name)
        elif isinstance(statement, ast.Assign):
            found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.add(statement.target.id)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
        elif isinstance(statement, ast.If):  # imports for type checkers alone
            found |= assigned(statement.body)
    return found


def documented(tree: ast.Module | Documented) -> Iterator[Documented]:
    """What a module or a class defines and documents."""
    for statement in tree.body:
        if isinstance(statement, Documented) and ast.get_docstring(statement):
            yield statement


@dataclass
class Sources:
    """The package as it is written; other sources can be given for tests."""

    files: dict[str, str]  # module -> its text
    public: dict[str, str] = field(default_factory=dict)  # name -> module
    also_known: set[str] = field(default_factory=set)

    @classmethod
    def of_the_package(cls) -> "Sources":
        """Those of the checkout, with the names that its other files define."""
        files = {
            ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path.read_text("utf-8")
            for path in sorted(PACKAGE.rglob("*.py"))
        }
        public = {name: home for home, name in EXPORT.findall((PACKAGE / "__init__.pyi").read_text("utf-8"))}
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        cited = re.findall(r"^@\w+\{(\w+)", (ROOT / "docs" / "references.bib").read_text("utf-8"), re.MULTILINE)
        return cls(files, public, {*project["optional-dependencies"], *cited})

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Module -> its syntax."""
        return {module: ast.parse(text) for module, text in self.files.items()}

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Every class, by its name."""
        return {
            node.name: node for tree in self.trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        }

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The public functions, by their names."""
        return {
            node.name: node
            for tree in self.trees.values()
            for node in tree.body
            if isinstance(node, Function) and self.is_public(node.name)
        }

    @cached_property
    def everything(self) -> set[str]:
        """Every word of the package that is a name, and what its strings name (dials, fields of tables)."""
        code = re.sub(r'""".*?"""', "", "\n".join(self.files.values()), flags=re.DOTALL)
        return set(re.findall(r"[A-Za-z_]\w*", code))

    def is_public(self, name: str) -> bool:
        """Whether users meet it."""
        return name in self.public or name in MORE_PUBLIC

    def members(self, kind: ast.ClassDef, seen: tuple[str, ...] = ()) -> set[str]:
        """The arguments of a class and what it and its bases have, dials included."""
        found = assigned(kind.body)
        for node in ast.walk(kind):
            if isinstance(node, Function) and node.name in ("__init__", "__new__"):
                found |= arguments(node)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                found.add(node.attr)
        for base in (*kind.bases, *kind.keywords):
            name = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
            if name in self.classes and name not in seen:
                found |= self.members(self.classes[name], (*seen, name))
        return found

    def returned(self, function: Function) -> set[str]:
        """The members of the classes that a function says it returns."""
        names = re.findall(r"\w+", ast.unparse(function.returns)) if function.returns is not None else []
        return {member for name in names if name in self.classes for member in self.members(self.classes[name])}


def dials_of(tree: ast.Module) -> set[str]:
    """The names of dials that a module declares."""
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Dial"
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    }


def names_out_of_place(sources: Sources) -> Iterator[Finding]:
    """Names in backticks that are nothing which the docstring can speak of."""
    of_a_problem = sources.members(sources.classes["Policy"]) if "Policy" in sources.classes else set()
    for module, tree in sources.trees.items():
        known = assigned(tree.body) | set(sources.public) | set(MORE_PUBLIC) | sources.also_known
        if ".policies." in module or ".clairvoyant" in module:
            known |= dials_of(tree) | of_a_problem | {"Outcome"}  # settings of every rule
        for outer in documented(tree):
            own = known | (sources.members(outer) if isinstance(outer, ast.ClassDef) else set())
            inner = documented(outer) if isinstance(outer, ast.ClassDef) else ()
            for node in (outer, *inner):
                allowed = set(own)
                if isinstance(node, Function):
                    allowed |= arguments(node) | sources.returned(node)
                    allowed |= of_a_problem if node.args.kwarg is not None else set()  # passed on to a policy
                is_public = sources.is_public(outer.name) and not node.name.startswith("_")
                for name in QUOTED.findall(ast.get_docstring(node) or ""):
                    if name in allowed or name in FOREIGN or hasattr(builtins, name):
                        continue
                    if is_public or name not in sources.everything:
                        place = f"{module}:{node.lineno} {node.name}"
                        yield Finding(place, f"`{name}` is neither an argument nor anything else that it can speak of")


def arguments_left_out(sources: Sources) -> Iterator[Finding]:
    """Optional arguments of public functions of which no docstring speaks."""
    for name, function in sources.functions.items():
        text = ast.get_docstring(function) or ""
        said = set(re.findall(r"\w+", text))
        for other in said & sources.functions.keys():
            # What another function documents, for the arguments that both have.
            said |= set(re.findall(r"\w+", ast.get_docstring(sources.functions[other]) or "")) & arguments(
                sources.functions[other]
            )
        for argument in sorted(optional_arguments(function) - said):
            yield Finding(f"{name}", f"its docstring does not speak of the argument {argument!r}")


def findings(sources: Sources) -> list[Finding]:
    """Everything that does not agree."""
    return [*names_out_of_place(sources), *arguments_left_out(sources)]


def main() -> None:
    """Print what does not agree, or how much was compared."""
    sources = Sources.of_the_package()
    found = findings(sources)
    for finding in found:
        print(finding)
    if found:
        sys.exit(1)
    texts = [ast.get_docstring(node) or "" for tree in sources.trees.values() for node in documented(tree)]
    quoted = sum(len(QUOTED.findall(text)) for text in texts)
    print(f"Docstrings agree with signatures: {quoted} names in backticks, {len(sources.functions)} public functions.")


if __name__ == "__main__":
    main()
