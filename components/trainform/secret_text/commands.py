"""Passwords among the words of commands, known by their place alone: `curl -u user:password`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from trainform.secret_text.patterns import Marks, Pattern


class CommandRow(Struct, frozen=True):
    """Programs that take a password behind a short option.

    programs: their names. pattern: the option with what follows it, in the same word or in the next one, and in it the group `secret`. verb: a word
    without which the option means something else (`docker run -p 8080:80`); empty: none.
    """

    title: str
    programs: frozenset[str]
    pattern: Pattern
    verb: str = ""

    def takes(self, before: set[str]) -> bool:
        """True if the option has this meaning behind these words of a command."""
        return not self.programs.isdisjoint(before) and (not self.verb or self.verb in before)


def _row(title: str, programs: str, pattern: str, verb: str = "") -> CommandRow:
    return CommandRow(title, frozenset(programs.split()), Pattern(pattern), verb)


_CONTAINERS = "docker podman nerdctl buildah skopeo helm oras crane singularity apptainer az"
_MYSQL = "mysql mysqldump mysqladmin mysqlimport mysqlcheck mariadb mariadb-dump mariadb-admin"
_MONGO = "mongo mongosh mongodump mongorestore mongoexport mongoimport"
_LDAP = "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami"

COMMANDS: tuple[CommandRow, ...] = (
    _row("user of curl", "curl", r"(-[A-Za-z]{0,8}[uU]|--(proxy-)?user)[ =]?[^ :]*:(?P<secret>\S+)"),
    _row("user of lftp", "lftp", r"-u ?[^ ,]+,(?P<secret>\S+)"),
    _row("user of smbclient", "smbclient", r"(-U|--user)[ =]?[^ %]+%(?P<secret>\S+)"),
    _row("password of sshpass", "sshpass", r"-[ev]{0,2}p ?(?P<secret>\S+)"),
    _row("login to a registry", _CONTAINERS, r"-p[ =]?(?P<secret>\S+)", "login"),
    _row("credentials of a registry", _CONTAINERS, r"--((src|dest)-)?creds[ =][^ :]*:(?P<secret>\S+)"),
    _row("password of mysql", _MYSQL, r"-p(?P<secret>\S+)( .*)?"),
    _row("password of redis", "redis-cli", r"-a (?P<secret>\S+)"),
    _row("password of mongo", _MONGO, r"-p ?(?P<secret>\S+)"),
    _row("password of ldap", _LDAP, r"-w ?(?P<secret>\S+)"),
    _row("password of sqlcmd", "sqlcmd bcp", r"-P ?(?P<secret>\S+)"),
)

MARKS = tuple(sorted({program for row in COMMANDS for program in row.programs}))
_MARK = Marks(MARKS)
# Programs whose options begin where their name stands: `sshpass -p PASSWORD ssh -p 22`.
_PROGRAMS = frozenset({*MARKS, "ssh", "scp", "sftp", "rsync"})

_END = re.compile(r"[\n;&|]+")  # of a command in a shell's text


def may_be_in(text: str) -> bool:
    """False if none of the programs is named in the text."""
    return _MARK.compiled.search(text) is not None


def commands(text: str) -> list[list[str]]:
    """The words of each command in a shell's text."""
    return [part.split() for part in _END.split(text.replace("\\\n", " "))]


def passwords(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The passwords among the words of one command: the index of the word that each is in, and the password."""
    before: set[str] = set()
    for index, word in enumerate(words):
        if word.startswith("-") and before:
            following = words[index + 1] if index + 1 < len(words) else ""
            for row in COMMANDS:
                if row.takes(before) and (match := row.pattern.compiled.match(f"{word} {following}")) is not None:
                    yield index + (match.start("secret") > len(word)), match["secret"]
        name = "" if "://" in word else word.rpartition("/")[2]
        if name in _PROGRAMS and name not in before:
            before.clear()
        before.add(name)
