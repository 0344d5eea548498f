"""Rules that solve MiniWoB++ tasks from their utterance and what `cuebook` observed of the page.

`page` reads a request, `plan` writes steps, `registry` finds the rule of an utterance, `serve` is the loop;
each `rules_*` module holds the rules of one kind of page. No rule knows a task's name, seed or script.
"""
