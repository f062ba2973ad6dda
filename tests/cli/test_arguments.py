"""The edge at which reports are printed: whatever a cluster, a file or a backend says, no secret is shown."""

from __future__ import annotations

import contextlib
import io

import pytest

from tests.console.secrets.samples import SHAPES
from tests.support.leaks import GITHUB_TOKEN, HUB_TOKEN, OTHER_HUB_TOKEN, PASSWORD, leaks
from trainform.cli.arguments import Form, show
from trainform.console.sections import Item, Row, Section, Table

SECRETS = (GITHUB_TOKEN, HUB_TOKEN, OTHER_HUB_TOKEN, PASSWORD)


def shown(secret: str, form: Form) -> str:
    """What is printed of a report with the text in each place."""
    item = Item(f"rolled back: {secret} was wrong.", (Row("reason", secret, verbatim=True),), code=secret)
    title = Section(f"History of {secret}", (item,))
    blocks = (item, Table((("stack", "release"), ("prod", secret))))
    data = {"stacks": [{"stack": secret, "environment": {secret: [secret]}}]}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show(form, data, [title, Section("What happened", blocks)])
    return out.getvalue()


@pytest.mark.parametrize("form", [*Form])
def test_no_form_shows_a_secret(form: Form) -> None:
    address = f"s3://AKIAIOSFODNN7:{PASSWORD}@states"
    forms = {secret: shown(secret, form) for secret in (GITHUB_TOKEN, HUB_TOKEN, OTHER_HUB_TOKEN, address)}
    assert leaks(forms, SECRETS) == []
    assert all(text.count("[secret") >= 3 for text in forms.values())


def test_every_shape_of_a_secret_is_masked() -> None:
    assert not any(sample in shown(sample, Form.JSON) for sample in SHAPES)


def test_what_is_no_secret_is_shown_as_it_is() -> None:
    assert "rolled back: loss is nan was wrong." in shown("loss is nan", Form.TEXT)
