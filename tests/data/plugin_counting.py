"""A plug-in: a counting without reuse, by which every tile is fetched anew whenever any loop outside moves."""

from dataclasses import fields
from math import prod

from optmap.count.meshes.layout import NestLayout
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.traffic import accesses_of
from optmap.count.policies import register_policy


class Anew(NestLayout):
    """Tiles that nothing stays of."""

    def entering(self, operand, number):
        """Words that all instances of a memory receive."""
        if number < 0:
            return self.operations
        return self.instances[number] * self.tile_words(operand, number) * prod(n for _, _, n in self.turns[number])


class AnewPolicy(NestPolicy):
    """Counts nest by nest: a scalar road is all that a policy has to have."""

    def accesses(self, layout, place, *, charge_drains, bias):
        """Those of a walk, of tiles that nothing stays of."""
        anew = Anew(**{field.name: getattr(layout, field.name) for field in fields(layout)})
        return accesses_of(anew, place, charge_drains=charge_drains, bias=bias)

    def missing(self, fabric):
        """It is for subscripts without strides, to have something that it refuses."""
        if any(factor > 2 for operand in fabric.operands for axis in operand.axes for _, factor in axis):
            return "knows strides of 1 and 2 only"
        return None


register_policy(AnewPolicy(name="anew", description="no reuse: tiles are fetched anew whenever a loop outside moves"))
