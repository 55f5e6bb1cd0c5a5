"""Lower bounds on data movement, proved in integers and fractions, with certificates."""

from __future__ import annotations

from optmap.base.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "asymptotic": "brascamp_lieb smallest_sigma",
        "certificate": "digest",
        "fixed_exponents": "VolumeBound cold_loads loads_of_semantics",
        "compulsory": "compulsory_loads output_count output_words output_words_at_most tensor_counts",
        "exponents.convex": "satisfies",
        "convolution": "large_loops_volume precision_constant small_filter_volume theorem15",
        "windows.halo": "kappa",
        "passing.visits": "VisitsProof taps_met visits_proofs",
        "passing.passes": "PassesProof passes_proofs",
        "passing.places": "least_of_places rim_of_places shared_columns tap_worths",
        "windows.halo_proof": "HaloProof halo_proofs why_no_halo window_shape window_volume",
        "hierarchy": "INCLUSIVE INSTANCES SUMMED TOTAL fast_side_words instance_words separating_dims",
        "ioopt_formulas": "figure6_contraction figure6_convolution ioopt scenarios why_not_ioopt",
        "exponents.lattice": "canonical closure complete_flag image_rank intersection kernel rank space_sum "
        "whole_space",
        "exponents.lifting": "DimDigit Place lift_workload",
        "exponents.maps": "LinearMap MapSystem map_system",
        "methods": "BOUNDS CHAIN_BOUNDS bounds methods_for",
        "exponents.polytope": "FamilyRows Polytope family_constraints polytopes restrict",
        "projective": "dual_volume tile_bound why_not_projective",
        "units": "MUS accounting",
        "exponents.proof": "operations_bound ranked_proofs tensor_sums",
        "result": "LowerBound",
        "roots": "floor_sqrt root_above",
        "windows.tap_class_proof": "ClassesProof class_proofs",
        "windows.tap_classes": "TapClass class_operations weight_bound weighted_classes why_no_classes",
        "segments": "LargestBound SegmentBound Segments best_segments",
    },
)
