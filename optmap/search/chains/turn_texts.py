"""What answers say of mappings of statements in turn: which are looked at, how they are proved and counted."""

FAMILY = (
    "neighbouring statements block by block, what they hand on kept in one level on chip, or one after the other with "
    "it in the outermost memory; each with perfect factors of every dim"
)
PAIR = (
    f"{FAMILY}; blocks are cut by loops over dims that both statements have, in every order and every number of steps "
    "that divides, any other tensors staying in the same level over the innermost loops that do not move them"
)
APART = "statements one after the other, what they hand on in the outermost memory; each with perfect factors"
IN_PLACE = (
    "functions that are done in place are applied to elements as they are stored or read: no access, energy or cycle "
    "of them is counted"
)
POINTWISE = (
    "functions of several tensors element by element take an operation at each point, and move what a product would"
)
PROOF = "floors of nests, and exact searches for better ones, in {} to cut and keep: {} searched; {}"
OF_ROWS = (
    "functions of rows are applied where their rows are, which pass word by word twice and come to an end before "
    "anything of them is read: these accesses are counted, and no operation"
)
MASKED = (
    "conditions are masks: every iteration is done and counted, and those that they leave out change nothing; the "
    "floor is of points that meet them"
)
IN_TURN = (
    "statements are done in turn: cycles are the sum of theirs, and energy-delay is the product of both sums; nothing "
    "is computed again"
)
