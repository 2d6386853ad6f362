"""Every page through app.py: frame, states, values on the screen, and hostile names as text."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from streamlit.runtime.state.query_params import QueryParams

from core.codes import NoticeCode
from core.errors import Notice
from core.library import SAMPLES, Library, RunSource
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from tests.core.library.builders import headline
from tests.pages.seen import bodies, fine, html, opened

HOSTILE = "**b** ![x](http://x/y) [c](javascript:1) <script> $a$ :red[r]"
PAGES = (
    "library",
    "evaluate",
    "reliability",
    "posthoc",
    "ood",
    "compare",
    "xray",
    "train",
    "gamma",
    "published",
    "theory",
)
MARKUP = (
    "markdown",
    "caption",
    "error",
    "warning",
    "info",
    "success",
    "title",
    "header",
    "subheader",
)
LABELLED = ("button", "toggle", "selectbox", "slider", "text_input", "expander", "radio")


def test_the_first_screen_teaches_and_offers_the_samples(home):
    test = opened()
    assert "Drop logits or probabilities" in html(test)
    offered = [button.label for button in test.button if button.key.startswith("sample.")]
    assert offered == ["Fair digits", "Over&#45;confident digits", "Traits of digits"]


@pytest.mark.parametrize("script", PAGES)
def test_a_page_opened_before_the_router_gets_the_whole_frame(home, script):
    test = opened(script)
    assert [toggle.label for toggle in test.sidebar.toggle] == ["Plain words"]
    assert any("c-brand" in body for body in bodies(test))


@pytest.mark.parametrize(
    ("script", "link", "name"),
    [
        ("reliability", {}, "CIFAR-10 (JPEG), Cross-entropy"),
        ("ood", {}, "CIFAR-10 (JPEG), Cross-entropy"),
        ("report", {}, "CIFAR-10 (JPEG), Cross-entropy"),
        ("gamma", {}, "CIFAR-10 (JPEG), AdaFocal"),
        ("human", {}, "CIFAR-10 (JPEG), Cross-entropy"),
        ("xray", {"show": "findings"}, "Phantom films, another hospital"),
        ("xray", {"show": "finding"}, "Phantom films, another hospital"),
        pytest.param(
            "posthoc", {}, "CIFAR-10 (JPEG), Cross-entropy", marks=pytest.mark.slow
        ),
        pytest.param("compare", {}, "CIFAR-10 (JPEG), AdaFocal", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_page_without_a_run_opens_a_sample_and_says_so(home, script, link, name):
    test = fine(opened(script, **link))
    picked = [box.options[box.index] for box in test.selectbox if box.key == "app.picked"]
    assert name in [*picked, *re.findall(re.escape(name), html(test))]
    assert ">Sample" in html(test)
    assert "Open your own run" in [link.label for link in test.main.page_link]
    assert "No run is open" not in html(test)
    assert "run" not in test.query_params  # nobody chose it: another page opens its own
    test.session_state["app.run"] = "digits-fair"
    test.run()
    links = [link.label for link in test.main.page_link]
    assert script == "compare" or "Open your own run" not in links


def test_an_unknown_run_is_refused_in_words(home):
    test = opened("reliability", run="nosuchrun")
    assert "There is no run “nosuchrun”" in test.error[0].value.replace("&#45;", "-")


def test_a_link_restores_run_split_bins_and_rule(home):
    test = opened(
        "reliability",
        run="digits-overconfident",
        split="val",
        bins="20",
        rule="equal_mass",
    )
    assert test.slider(key="widget.bins").value == 20
    text = html(test)
    assert "20 equal-mass bins" in text
    assert "val split" in text


@pytest.mark.slow
def test_a_slider_move_changes_the_picture_and_survives_leaving_the_page(home):
    test = opened("reliability", run="digits-overconfident")
    assert "15 equal-width bins" in html(test)
    test.slider(key="widget.bins").set_value(10).run()
    assert "10 equal-width bins" in html(test)
    test.switch_page("pages/library.py").run()
    test.switch_page("pages/reliability.py").run()
    assert "10 equal-width bins" in html(test)


@pytest.mark.slow
def test_a_choice_of_rule_survives_leaving_the_page_and_back_means_the_default(home):
    test = opened("reliability", run="digits-overconfident", rule="equal_mass")
    test.switch_page("pages/library.py").run()
    del test.query_params["rule"]
    test.switch_page("pages/reliability.py").run()
    assert "15 equal-mass bins" in html(test)
    del test.query_params["rule"]  # what the browser's Back button does
    test.run()
    assert "15 equal-width bins" in html(test)


@pytest.mark.slow
def test_a_run_that_vanished_is_said_and_another_can_be_opened(home, hostile_run):
    test = opened("reliability", run=hostile_run)
    Library(home, SAMPLES).delete(hostile_run)
    test.selectbox(key="app.picked").set_value("digits-fair").run()
    assert test.selectbox(key="app.picked").value == "digits-fair"
    gone = opened("reliability", run=hostile_run)
    assert "There is no run" in gone.error[0].value
    assert any(button.key == "sample.digits-fair" for button in gone.button)


def test_a_name_that_a_busy_browser_still_shows_opens_nothing(home):
    test = opened("reliability", run="digits-fair")
    box = test.selectbox(key="app.picked")
    box.options.append("Fair digits (draft)")  # of a draft that has become this run
    box.set_value("Fair digits (draft)").run()
    assert test.query_params["run"] == "digits-fair"
    assert test.selectbox(key="app.picked").value == "digits-fair"


@pytest.mark.slow
def test_picking_a_run_that_was_deleted_meanwhile_is_no_crash(home, hostile_run):
    test = opened("reliability", run="digits-fair")
    Library(home, SAMPLES).delete(hostile_run)
    test.selectbox(key="app.picked").set_value(hostile_run).run()
    assert test.selectbox(key="app.picked").value == "cifar10-ce"


def test_the_numbers_on_the_page_are_the_audits(home):
    test = opened("reliability", run="digits-overconfident")
    found = audit(Library(Path("unused"), SAMPLES).load("digits-overconfident", "test")).main
    assert f"Over-confident by {100 * found.direction.gap:.1f} points" in html(test)
    assert f">{100 * found.metrics['ece'].value:.1f}<" in html(test)
    assert f">{100 * found.metrics['accuracy'].value:.1f}<" in html(test)


@pytest.mark.slow
def test_labels_are_picked_by_name(home):
    test = opened("reliability", run="digits-traits", of="1")
    names = Library(Path("unused"), SAMPLES).get("digits-traits").class_names
    assert names[1] in html(test)


@pytest.fixture
def hostile_run(home):
    rng = np.random.default_rng(0)
    predictions = Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        rng.normal(size=(60, 3)),
        rng.integers(0, 3, 60),
        class_names=(HOSTILE, "b", "c"),
        row_ids=tuple(f"{HOSTILE} {i}" for i in range(60)),
    )
    kept = Library(home, SAMPLES).keep(
        HOSTILE,
        {"test": predictions},
        source=RunSource(f"{HOSTILE}.npz", "0" * 32),
        summary={"test": headline()},
        notices=[Notice("KEYS_GUESSED", f"read from {HOSTILE}")],
        tags=["t"],
    )
    return kept.id


@pytest.mark.parametrize("plain", ["false", pytest.param("true", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "script",
    [pytest.param(p, marks=pytest.mark.slow if "posthoc" in p else ()) for p in PAGES],
)
def test_no_markup_element_holds_a_hostile_name_unescaped(home, hostile_run, script, plain):
    test = opened(script, run=hostile_run, of="0", plain=plain)
    texts = [element.value for kind in MARKUP for element in getattr(test, kind)]
    texts += [element.label for kind in LABELLED for element in getattr(test, kind)]
    for mark in ("![x]", "[c](", "<script>", ":red[r]", "**b**", "$a$"):
        assert not [text for text in texts if text and mark in text]
    assert "<script>" not in html(test)  # where Markdown is not read


def test_a_deleted_run_comes_back_by_undo(home, hostile_run):
    library = Library(home, SAMPLES)
    library.delete(hostile_run)
    test = opened()
    test.button(key=f"restore.{hostile_run}").click().run()
    assert library.get(hostile_run).name == HOSTILE


def test_a_damaged_run_is_named_and_the_rest_still_listed(home, hostile_run):
    (home / "runs" / hostile_run / "manifest.json").write_text("{")
    test = opened()
    assert f"Run {hostile_run} is damaged: The manifest is not JSON" in unescape(
        test.error[0].value
    )
    samples = sum(path.is_dir() for path in SAMPLES.iterdir())
    assert f"{samples} runs" in html(test)


def test_a_damaged_run_is_deleted_and_comes_back_by_undo(home, hostile_run):
    (home / "runs" / hostile_run / "predictions" / "test.safetensors").unlink()
    test = opened()
    assert "<script>" not in test.error[0].value
    test.button(key=f"damaged.{hostile_run}").click().run()
    assert not test.error
    assert [toast.value.startswith("Deleted") for toast in test.toast] == [True]
    test.button(key="library.undo").click().run()
    assert [unescape(toast.value) for toast in test.toast] == ["Undone."]
    assert "test.safetensors is missing" in unescape(test.error[0].value)


def test_a_damaged_sample_has_no_button_that_would_be_refused(home, monkeypatch, tmp_path):
    (tmp_path / "samples" / "broken").mkdir(parents=True)
    monkeypatch.setattr("pages.ui.visitor.SAMPLES", tmp_path / "samples")
    test = opened()
    assert "remove it by hand" in unescape(test.error[0].value)
    assert not [button for button in test.button if (button.key or "").startswith("damaged.")]


@pytest.mark.parametrize("text", ["{", '{"schema_version": 3}'])
def test_opening_a_damaged_run_is_refused_in_words(home, hostile_run, text):
    (home / "runs" / hostile_run / "manifest.json").write_text(text)
    test = opened("reliability", run=hostile_run)
    assert "`MANIFEST`" in test.error[0].value


def test_a_manifest_that_lies_about_its_date_does_not_take_the_page_along(home, hostile_run):
    path = home / "runs" / hostile_run / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"created": "yesterday"}))
    test = opened()
    (error,) = test.error
    assert "created is" in unescape(error.value)


def test_without_samples_the_first_screen_still_works(home, monkeypatch, tmp_path):
    empty = tmp_path / "none"
    shutil.rmtree(empty, ignore_errors=True)
    monkeypatch.setattr("pages.ui.visitor.SAMPLES", empty)
    test = opened()
    assert any("No run" in element.value for element in test.markdown)


def test_choices_of_a_run_do_not_follow_to_the_next(home):
    test = opened("reliability", run="digits-overconfident", bins="10", rule="equal_mass")
    assert "10 equal-mass bins" in html(test)
    test.selectbox(key="app.picked").set_value("digits-fair").run()
    assert "15 equal-width bins" in html(test)
    test = opened("posthoc", run="digits-overconfident", methods="ts,isotonic")
    test.selectbox(key="app.picked").set_value("digits-fair").run()
    assert "isotonic" not in test.multiselect(key="widget.methods").value


def test_compare_begins_with_the_open_run_until_others_are_chosen_with_it(home):
    test = opened("compare", run="digits-fair")
    assert "Compare “Fair digits” with another run." in html(test)
    first = next(b for b in test.button if b.key == "compare.with.0")
    every = [b.label for b in test.button if b.key and b.key.startswith("compare.with.")]
    assert [label.startswith("Compare all ") for label in every] == [False] * (len(every) - 1) + [
        True
    ]
    first.click().run()
    assert "digits-fair" in test.query_params["runs"]
    del test.query_params["runs"]
    test.run()  # as from a link of the sidebar
    assert test.multiselect(key="widget.runs").value[0] == "digits-fair"
    del test.query_params["runs"]
    test.query_params["run"] = "cifar10-ce"
    test.run()
    assert "Compare “CIFAR-10 (JPEG), Cross-entropy” with another run." in html(test)


def test_an_old_link_of_the_split_that_post_hoc_reports_opens_it(home):
    test = opened("posthoc", run="digits-overconfident", test="val")
    assert test.segmented_control(key="widget.split").value == "val"
    assert "of val" in html(test)


def carried(test) -> set[str]:
    """Return the links of the tabs."""
    links = [link.proto for link in test.main.page_link]
    return {link.query_string for link in links if link.page in ("posthoc", "ood", "human")}


def test_the_first_tabs_of_a_link_lead_to_its_run_and_split(home):
    test = opened("reliability", run="digits-overconfident", split="val")
    assert carried(test) == {"run=digits-overconfident&split=val"}
    bars = {link.proto.page: link.proto.query_string for link in test.sidebar.page_link}
    assert bars["compare"] == "run=digits-overconfident&split=val"
    test = opened("compare", run="digits-fair")
    bars = {link.proto.page: link.proto.query_string for link in test.sidebar.page_link}
    assert bars["reliability"] == "run=digits-fair"


def test_a_link_to_no_run_leads_its_tabs_to_none(home):
    test = opened("reliability", run="nosuchrun", split="val")
    assert not any("run" in query for query in carried(test))


def test_the_old_link_to_votes_carries_its_split(home):
    test = opened("reliability", run="digits-overconfident", votes="people", split="val")
    assert test.segmented_control(key="widget.split").value == "val"
    assert "No votes yet." in html(test)


def test_another_split_on_another_tab_closes_the_bin(home):
    test = opened("reliability", run="digits-overconfident", bin_rows="15")
    assert test.selectbox(key="widget.bin_rows").value == "15"
    del test.query_params["bin_rows"]  # as the links of the tabs do
    test.switch_page("pages/human.py").run()
    test.segmented_control(key="widget.split").set_value("val").run()
    test.switch_page("pages/reliability.py").run()
    assert test.segmented_control(key="widget.split").value == "val"
    assert test.selectbox(key="widget.bin_rows").value == ""


def test_a_bin_closed_without_the_list_mounts_the_list_anew(home):
    """A browser that is busy sends the bin that the list showed once more: nobody listens."""
    test = opened("reliability", run="digits-overconfident", bin_rows="15")
    test.button(key="rows.close").click().run()
    assert test.selectbox(key="widget.bin_rows.1").value == ""
    with pytest.raises(KeyError):
        test.selectbox(key="widget.bin_rows")


def test_a_picked_run_and_other_bins_are_one_step_of_the_history(home, monkeypatch):
    told = []  # links, as the browser is told them
    send = QueryParams._send_query_param_msg

    def noted(params):
        told.append(params.to_dict())
        send(params)

    monkeypatch.setattr(QueryParams, "_send_query_param_msg", noted)
    shown = {"run": "digits-overconfident", "split": "val", "bins": "10"}
    test = opened("reliability", **shown, rule="equal_mass", bin_rows="9")
    told.clear()
    test.segmented_control(key="widget.rule").set_value("equal_width").run()
    assert told
    assert all(link == shown for link in told)
    told.clear()
    test.selectbox(key="app.picked").set_value("digits-fair").run()
    assert told == [{"run": "digits-fair"}]
    test = opened("reliability", **shown, plain="true")  # bound to its switch
    test.selectbox(key="app.picked").set_value("digits-fair").run()
    left = {name for name, value in test.query_params.items() if value not in ("", [""])}
    assert left <= {"run", "plain"}


def test_how_a_file_was_read_is_folded_and_what_bears_on_the_verdict_is_not(home):
    rng = np.random.default_rng(0)
    rows = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    )
    said = (
        Notice(NoticeCode.SCORES_GUESSED, "taken as logits"),
        Notice(NoticeCode.VOTES_SIMULATED, "nobody was asked"),
    )
    run = Library(home, SAMPLES).keep(
        "read", {"test": rows}, source=RunSource("a.npz", "0" * 32), summary={}, notices=said
    )
    test = opened("reliability", run=run.id)
    (fold,) = [one for one in test.expander if one.label.startswith("How it was read")]
    assert fold.label == "How it was read (1 note)"
    lists = [body for body in bodies(test) if "c-notices" in body]
    (own,) = [body for body in lists if "SCORES_GUESSED" in body]
    assert "VOTES_SIMULATED" not in own
    assert any("VOTES_SIMULATED" in body for body in lists)


def test_the_header_of_a_run_holds_no_empty_verdict(home, hostile_run):
    assert "c-verdict" not in html(opened("reliability", run=hostile_run))  # the sentence says it
    assert "c-verdict" in html(opened("report", run=hostile_run))
    labels = html(opened("posthoc", run="digits-traits"))
    assert re.search(r"\d of \d labels off", labels)


def test_a_confident_model_over_equal_mass_has_axes_in_log_odds(home):
    test = opened("reliability", run="digits-overconfident", rule="equal_mass")
    assert test.segmented_control(key="widget.axes").value == "odds"
    test.segmented_control(key="widget.axes").set_value("linear").run()
    assert test.query_params["axes"] in ("linear", ["linear"])
    plain = opened("reliability", run="digits-overconfident")
    assert [one.key for one in plain.segmented_control if one.key == "widget.axes"] == []
