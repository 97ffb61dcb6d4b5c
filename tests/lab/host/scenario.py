"""What a scenario file asks for: one or more comment lines "#lab name=value ..." at its top."""

import dataclasses
import pathlib


class ScenarioError(Exception):
    """The file cannot be run; the message says why."""


@dataclasses.dataclass(frozen=True)
class Scenario:
    path: pathlib.Path
    guests: int = 1
    nics: int = 1  # links between two guests
    memory_mib: int = 2048
    cpus: int = 2
    time_s: int = 60  # from the end of the boot to power-off

    @property
    def name(self) -> str:
        return self.path.stem


def load(path: pathlib.Path) -> Scenario:
    """Reads the header. Errors: ScenarioError for a missing file or an unknown or bad setting."""
    if not path.is_file():
        raise ScenarioError(f"no scenario file {path}")
    known = {field.name for field in dataclasses.fields(Scenario)} - {"path"}
    settings = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#lab "):
            continue
        for word in line.split()[1:]:
            name, _, value = word.partition("=")
            if name not in known or not value.isdigit():
                raise ScenarioError(f"{path}: bad setting {word!r} (known: {', '.join(sorted(known))})")
            settings[name] = int(value)
    scenario = Scenario(path.resolve(), **settings)
    if scenario.guests not in (1, 2) or scenario.nics not in (1, 2):
        raise ScenarioError(f"{path}: guests and nics are 1 or 2")
    return scenario
