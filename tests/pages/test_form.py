"""A form over declared fields: which widget each gets, what it holds, and what is read from it."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import UsageError
from core.fields import fields_of
from core.inference.config import Preprocessing
from core.training.config import from_json
from pages.ui.form import EXACT, Form
from pages.ui.train.form import FORM

CONFIG = from_json(
    {
        "data": "digits",
        "model": "small_cnn",
        "loss": {"name": "ce"},
        "clip_norm": 2,
        "schedule": {"drops": [1 / 3, 0.5]},
        "augment": False,
    }
)


def every_field():  # runs as a script of its own
    import json

    import streamlit as st

    from core.errors import UsageError
    from core.fields import declared
    from core.training.config import TrainConfig
    from pages.ui.form import Form

    declared_fields = declared(TrainConfig)
    form = Form("made", {key: declared_fields[key] for key in st.session_state["keys"]})
    if "config" in st.session_state:
        for name, what in form.of(json.loads(st.session_state.pop("config"))).items():
            form.put(name, what)
    for name in form.widgets:
        form.draw(name)
    try:
        st.text(json.dumps(form.settings(TrainConfig)))
    except UsageError as error:
        st.text(str(error))


KEYS = ["name", "data_root", "n_train", "epochs", "clip_norm", "precision", "augment", "split_seed"]
KEYS += ["optimizer.name", "optimizer.lr", "schedule.name", "schedule.drops"]


@pytest.fixture
def drawn() -> AppTest:
    test = AppTest.from_function(every_field, default_timeout=60)
    test.session_state["keys"] = KEYS
    test.session_state["config"] = json.dumps(CONFIG.to_json())
    test.run()
    return test


def test_the_kind_of_widget_follows_from_the_field(drawn: AppTest) -> None:
    kinds = {
        "text_input": {"made.name", "made.data_root", "made.drops"},
        "number_input": {
            *("made.n_train", "made.epochs", "made.clip_norm", "made.split_seed", "made.lr")
        },
        "selectbox": {"made.precision", "made.optimizer", "made.schedule"},
        "toggle": {"made.augment"},
    }
    for kind, keys in kinds.items():
        assert {widget.key for widget in drawn.get(kind)} == keys


def test_a_widget_has_the_words_and_the_range_of_its_field(drawn: AppTest) -> None:
    epochs = drawn.number_input(key="made.epochs")
    assert (epochs.label, epochs.min, epochs.max, epochs.step) == ("Epochs", 1, 10_000, 1)
    assert epochs.help == "Passes over the training part."
    assert drawn.number_input(key="made.n_train").max == EXACT  # no end of its own
    assert drawn.number_input(key="made.split_seed").max == EXACT  # beyond a browser's numbers
    clip_norm = drawn.number_input(key="made.clip_norm")
    assert (clip_norm.min, clip_norm.max, clip_norm.step) == (0.0, 1e6, 0.5)
    assert drawn.selectbox(key="made.optimizer").options == ["SGD", "Adam", "AdamW", "Adagrad"]
    assert drawn.text_input(key="made.name").max_chars == 300
    assert drawn.text_input(key="made.data_root").max_chars == 4_000


def test_widgets_hold_a_config_and_give_it_back(drawn: AppTest) -> None:
    assert drawn.text_input(key="made.drops").value == "0.3333333333333333, 0.5"
    assert drawn.number_input(key="made.n_train").value is None
    given = CONFIG.to_json()
    expected = {
        key: given[key]
        for key in ("name", "data_root", "n_train", "epochs", "clip_norm", "precision", "augment")
    }
    assert json.loads(drawn.text[0].value) == expected | {
        "split_seed": 0,
        "optimizer": {"name": "sgd", "lr": 0.05},
        "schedule": {"name": "step", "drops": [1 / 3, 0.5]},
    }


def test_text_is_stripped_and_empty_text_is_null_where_null_may_stand(drawn: AppTest) -> None:
    test = drawn.text_input(key="made.data_root").set_value("  /x ").run()
    assert json.loads(test.text[0].value)["data_root"] == "/x"
    test.text_input(key="made.data_root").set_value(" ").run()
    assert json.loads(test.text[0].value)["data_root"] is None
    test.text_input(key="made.name").set_value(" a ").run()
    assert json.loads(test.text[0].value)["name"] == "a"


def test_a_list_that_holds_no_numbers_is_refused(drawn: AppTest) -> None:
    test = drawn.text_input(key="made.drops").set_value("0.2; 0.4").run()
    assert json.loads(test.text[0].value)["schedule"]["drops"] == [0.2, 0.4]
    test.text_input(key="made.drops").set_value("a").run()
    assert test.text[0].value == (
        "SETTING: schedule.drops is 'a'; give ascending numbers between 0 and 1"
    )


@pytest.mark.parametrize(
    ("name", "what", "problem"),
    [
        ("split_seed", EXACT + 1, f"give 0 to {EXACT}"),
        ("minutes", 0.5, "give 1.0 to 527040.0"),
        ("name", " a", "one line of at most 300"),
        ("name", "a\nb", "one line of at most 300"),
        ("drops", "1" * 4_001, "one line of at most 4000"),
    ],
)
def test_what_a_widget_would_change_is_refused(name: str, what: object, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        FORM.check(name, what)
    assert caught.value.what.startswith(f"{name} is {what!r:.60}, which this form cannot hold")
    assert problem in caught.value.remedy


def test_what_a_widget_can_hold_is_not_refused() -> None:
    for name, what in FORM.of(CONFIG.to_json()).items():
        if name != "loss":
            FORM.check(name, what)


def test_only_what_settings_speak_of_is_filled() -> None:
    assert FORM.of({"epochs": 3, "optimizer": {"lr": 1}}) == {"epochs": 3, "lr": 1.0}


def test_initial_values_are_the_declared_defaults() -> None:
    shown = {name: field for name, field in fields_of(Preprocessing).items() if name != "size"}
    assert Form("made", shown).initial() == {
        "mean": "",
        "std": "",
        "crop": 1.0,
        "cover": False,
        "interpolation": "bilinear",
        "crops": 1,
        "average": "logits",
    }
