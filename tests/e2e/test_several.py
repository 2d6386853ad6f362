"""Several files dropped together in a real browser, with a bad one among them."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.e2e import files
from tests.e2e.conftest import check_no_sideways_scroll, settled

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]
DROP = '[data-testid="stFileUploaderDropzoneInput"]'


def test_eight_files_are_listed_kept_and_compared_and_a_bad_one_costs_nothing(visit, tmp_path):
    paths = []
    for seed in range(8):
        logits, labels = files.classes(seed)
        np.savez(path := tmp_path / f"seed{seed}.npz", logits=logits, labels=labels)
        paths.append(str(path))
    (bad := tmp_path / "broken.npz").write_bytes(b"PK no zip")
    page = visit("/", viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.locator(DROP).first.set_input_files([*paths[:4], str(bad), *paths[4:]])
    listed = page.locator(".st-key-drafts")
    expect(listed).to_contain_text("8 drafts, 1 not read yet")
    expect(listed.get_by_text("400 rows · accuracy")).to_have_count(8)
    expect(listed).to_contain_text("FORMAT_UNKNOWN")
    check_no_sideways_scroll(page)
    page.get_by_role("button", name="Discard broken.npz").click()
    expect(listed).not_to_contain_text("not read yet")
    page.get_by_role("button", name="Keep all and compare").click()
    page.wait_for_url("**/compare**")
    settled(page)
    expect(page.locator("h1.c-sentence")).to_be_visible()
    assert page.url.split("runs=")[1].count("%2C") + page.url.split("runs=")[1].count(",") == 7
