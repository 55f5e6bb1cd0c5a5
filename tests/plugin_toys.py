"""A plug-in with a toy of every kind; tests copy it beside `toys`, to where Python does not look (`conftest`)."""

import sys

from toys import ANEW, BANKED, BANKS, LINE, POINTS, SQUARED

import optmap

sys.stdout.write("said as it is imported\n")
optmap.register_method(POINTS)
optmap.register_method(BANKED)
optmap.register_objective(SQUARED)
optmap.register_policy(ANEW)
optmap.register_trait(BANKS)
optmap.register_format(LINE)
