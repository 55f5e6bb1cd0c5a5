"""Code for the machine at hand: written from a mapping, compiled, run, measured, compared."""

from __future__ import annotations

from optmap.lazy import exports

__getattr__, __dir__ = exports(
    __name__,
    {
        "bench.clock": "cold_seconds warm_seconds",
        "bench.contender": "Baseline Contender aligned",
        "bench.forms": "Convolution Product library_forms tensor_shape",
        "bench.libraries": "LIBRARIES baselines",
        "bench.onednn": "OneDnn",
        "bench.ours": "own_way",
        "bench.pairing": "fastest interleaved pinned",
        "bench.pytorch": "PyTorch",
        "bench.results": "Bench BenchMean LayerBench Timing",
        "bench.session": "bench_layers",
        "bench.statistics": "Ratio geometric_mean order paired_ratio",
        "code": "Buffer Code Layout Piece",
        "emit.emit": "emit_code",
        "emit.files": "code_files write_code",
        "emit.names": "tensor_names",
        "emit.nest": "threads_of",
        "emit.program": "header_text",
        "host.detection": "Host core_of detect_host host_machine host_notes link_rate",
        "host.figures": "Figure Job Quantity Spread figure_of jobs_of spread stream_size",
        "host.probes": "Probe Probes Slices probe_source slices_of",
        "host.processor": "Processor Vectors read_processor",
        "host.shape": "microkernel_of microkernel_shape",
        "host.tables": "Cache Topology cpu_list mac_topology read_topology usable_cpus",
        "layouts": "activation_layouts buffers_of pack unpack",
        "run.compiled": "compile_code",
        "run.kernel": "Kernel Packed",
        "run.layouts": "memory_of stored stored_shape view_of",
        "run.reference": "terms",
        "run.verdict": "Trial Verdict Wrong judge tolerated trials_of",
        "statement": "as_computed",
        "toolchain.build": "build_folder build_library build_program",
        "toolchain.compiler": "Compiler find_compiler",
        "toolchain.libraries": "load_library",
        "validate.caches": "CacheTraffic Geometry caches_of geometry_of places replay_lines simulate_caches",
        "validate.measured": "build_samples emit_samples ready_samples time_samples",
        "validate.ranks": "TOPS kendall spearman top_loss",
        "validate.samples": "even_cuts register_tiles sample_mappings",
        "validate.validation": "LayerValidation Ranking Sample Validation rank_layer validate_layers",
    },
)
