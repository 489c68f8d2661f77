"""Pages that name the settings say what the table says."""

from pathlib import Path

import pytest

from hermes_chatto.actors.hermes.settings_pages import manifest_entries, settings_table

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"


def test_the_manifest_lists_every_variable() -> None:
    """What the gateway's setup asks for is what the plugin reads."""
    manifest = (ROOT / "plugin.yaml").read_text(encoding="utf-8")

    assert manifest.endswith("\n" + manifest_entries())


@pytest.mark.skipif(not README.exists(), reason="there is no README to compare with")
def test_the_readme_has_the_settings_table() -> None:
    """Between its two markers, to the letter."""
    text = README.read_text(encoding="utf-8")

    _, _, rest = text.partition("<!-- settings -->\n")
    table, end, _ = rest.partition("<!-- /settings -->")

    assert end
    assert table.strip() == settings_table().strip()


def test_the_table_shows_names_kinds_and_defaults() -> None:
    """One line a setting, by section."""
    table = settings_table()

    assert "### Account" in table
    assert "| `CHATTO_URL` | `url` | text | required | address of the server" in table
    assert "| - | `unauthorized_dm_behavior` | choice | ignore |" in table
    assert "| `CHATTO_READ_TIMEOUT` | `read_timeout` | seconds | 10 |" in table
    assert "| `CHATTO_ALLOWED_CHANNELS` | `allowed_channels` | list | not set |" in table
    assert "| `CHATTO_ALLOWED_USERS` | `allowed_users` | list | empty |" in table
