"""Out of distribution: how sure a model is of what it never saw, and what an alarm catches."""

from pages.ui import frame, opening
from pages.ui.ood import body as ood

frame.begin("pages/ood.py")
with frame.caught():
    ood.draw(
        opening.open_run(
            "Open a run: its test part is what strange inputs are told from. Then add scores of "
            "such inputs, or have its model evaluated on some."
        )
    )
