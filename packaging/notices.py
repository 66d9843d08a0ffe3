"""Prints the licences of the crates that are in the binary for a target: `notices.py TARGET`.

Each text appears once, after the crates that it belongs to; in the same order on every machine.
"""

import json
import pathlib
import subprocess
import sys

NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE")


def linked(metadata):
    """The ids of the crates that the binary is linked from."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    proc_macros = {
        package["id"]
        for package in metadata["packages"]
        if any("proc-macro" in target["kind"] for target in package["targets"])
    }
    found, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        this = waiting.pop()
        if this in found or this in proc_macros:
            continue
        found.add(this)
        for dependency in nodes[this]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return found - {metadata["resolve"]["root"]}


def texts(package):
    """The licence texts of a crate, and of the sources in it that others wrote, by path."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = {path for path in folder.iterdir() if path.name.upper().startswith(NAMES)}
    for vendored in sorted(folder.glob("c_src")):
        files.update(path for path in vendored.rglob("*") if path.name.upper().startswith(NAMES))
    if package["license_file"]:
        files.add(folder / package["license_file"])
    for path in sorted(files):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace")
                yield "\n".join(line.rstrip() for line in text.splitlines()).strip()


def main(target):
    words = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
    run = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    metadata = json.loads(run.stdout)
    wanted = linked(metadata)
    crates = [package for package in metadata["packages"] if package["id"] in wanted]
    crates.sort(key=lambda package: (package["name"], package["version"]))
    owners = {}
    print("certctl contains these crates, under their own licences; the texts follow.\n")
    for package in crates:
        name = f"{package['name']} {package['version']}"
        print(f"{name}: {package['license'] or 'see its text'}")
        for text in texts(package):
            owners.setdefault(text, []).append(name)
    for text, names in owners.items():
        print(f"\n{'=' * 80}\n{', '.join(dict.fromkeys(names))}:\n\n{text}")


main(*sys.argv[1:])
