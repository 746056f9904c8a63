"""What mkdocs does not do by itself: pages outside docs/, navigation in four kinds, links between all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: page of the repository -> page of the site; pages below docs/ keep their place
OUTSIDE = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "SECURITY.md": "project/security.md",
    "docker/README.md": "how-to/containers.md",
    "grammar/README.md": "explanation/grammar.md",
    **{
        str(path.relative_to(ROOT)): f"stories/{path.parent.name}.md"
        for path in sorted((ROOT / "examples").glob("*/README.md"))
    },
}
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def site_uri(path: str) -> str | None:
    """The page of the site for a file of the repository, or None if it is not a page."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") and path.endswith(".md") else None


def repository_path(uri: str) -> str:
    """The file of the repository for a page of the site."""
    return next((path for path, known in OUTSIDE.items() if known == uri), f"docs/{uri}")


def linked(text: str, uri: str) -> str:
    """The text of the page ``uri`` with links that hold on the site.

    A link to a file that is not a page, such as source code, becomes its text and the file's path.
    """
    here = ROOT / repository_path(uri)

    def relinked(match: re.Match[str]) -> str:
        words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        file, mark, anchor = target.partition("#")
        path = (here.parent / file).resolve().relative_to(ROOT)
        if (found := site_uri(str(path))) is not None:
            up = "../" * uri.count("/")
            return f"[{words}]({up}{found}{mark}{anchor})"
        return words if "`" in words or words == str(path) else f"{words} (`{path}`)"

    # code is left alone; what follows its language is for the tests
    parts = re.split(r"(^```.*?^```$|^(?:    [^\n]*\n)+)", text, flags=re.S | re.M)
    return "".join(
        re.sub(r"\A```(\w+) .*", r"```\1", part) if n % 2 else _LINK.sub(relinked, part) for n, part in enumerate(parts)
    )


def navigation() -> list[Any]:
    """All pages, in four kinds."""
    docs = ROOT / "docs"

    def pages(folder: str, first: str | None = None) -> list[str]:
        names = sorted(str(path.relative_to(docs)) for path in (docs / folder).glob("*.md"))
        return [first, *(name for name in names if name != first)] if first else names

    stories = [uri for uri in OUTSIDE.values() if uri.startswith("stories/")]
    return [
        {"Start": ["index.md", "start.md"]},
        {"Tutorial": ["tutorial.md", {"Stories": stories}]},
        {"How-to": ["migrating-from-ksqldb.md", "beyond-ksqldb.md", *pages("how-to"), *pages("how-to/jobs"), "how-to/containers.md", "project/security.md"]},
        {"Reference": pages("reference", "reference/index.md")},
        {
            "Explanation": [
                "architecture.md",
                {"Internals": pages("internals")},
                "reliability.md",
                "benchmarks.md",
                "explanation/grammar.md",
                {"Decisions": pages("adr", "adr/README.md")},
            ]
        },
        {"Project": ["project/contributing.md", "project/changes.md"]},
    ]


# ---- called by mkdocs ----------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """Set the navigation, and anchors as they are on the pages of a repository."""
    from pymdownx.slugs import slugify

    config.nav = navigation()
    config.mdx_configs["toc"] = {"slugify": slugify(case="lower"), "permalink": True}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/."""
    from mkdocs.structure.files import File

    for path, uri in OUTSIDE.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Make the links of a page hold on the site."""
    return linked(markdown, page.file.src_uri)
