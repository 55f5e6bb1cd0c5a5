/* One primitive of oneDNN: made from numbers, bound to buffers that the caller owns, called without any allocation. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oneapi/dnnl/dnnl.h"

enum { CONVOLUTION, MATMUL, INNER_PRODUCT };
enum { OUT, SRC, WEIGHTS, SCRATCH, OPERANDS };

typedef struct {
    long kind, bits, implementation;
    long out_rank, src_rank, weights_rank, spatial;
    long out[DNNL_MAX_NDIMS], src[DNNL_MAX_NDIMS], weights[DNNL_MAX_NDIMS];
    long stride[3], dilation[3], before[3], after[3];
    char out_tag[16], src_tag[16], weights_tag[16];
} question;

typedef struct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t descriptor;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[OPERANDS];
    dnnl_memory_desc_t plain[SCRATCH];
    dnnl_exec_arg_t arguments[OPERANDS];
    int status; /* of the first call that failed */
} call;

static const dnnl_query_t WHAT[OPERANDS]
    = {dnnl_query_dst_md, dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_scratchpad_md};
static const int SLOT[OPERANDS] = {DNNL_ARG_DST, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_SCRATCHPAD};

static const struct {
    const char *name;
    dnnl_format_tag_t tag;
} TAGS[] = {
    {"any", dnnl_format_tag_any},
    {"a", dnnl_a}, {"ab", dnnl_ab}, {"abc", dnnl_abc}, {"abcd", dnnl_abcd}, {"abcde", dnnl_abcde}, {"abcdef", dnnl_abcdef},
    {"ba", dnnl_ba}, {"acb", dnnl_acb}, {"acdb", dnnl_acdb}, {"acdeb", dnnl_acdeb},
    {"aBc16b", dnnl_aBc16b}, {"aBcd16b", dnnl_aBcd16b}, {"aBcde16b", dnnl_aBcde16b},
    {"aBc8b", dnnl_aBc8b}, {"aBcd8b", dnnl_aBcd8b}, {"aBcde8b", dnnl_aBcde8b},
};

static int described(dnnl_memory_desc_t *made, long rank, const long *sizes, long bits, const char *name) {
    dnnl_dims_t dims;
    for (long i = 0; i < rank; i++) dims[i] = sizes[i];
    for (size_t i = 0; i < sizeof TAGS / sizeof *TAGS; i++)
        if (!strcmp(TAGS[i].name, name))
            return dnnl_memory_desc_create_with_tag(made, (int)rank, dims, bits == 64 ? dnnl_f64 : dnnl_f32, TAGS[i].tag);
    return dnnl_invalid_arguments;
}

static void dims_of(dnnl_dims_t made, const long *numbers, long less) {
    for (int i = 0; i < 3; i++) made[i] = numbers[i] - less;
}

void bench_onednn_free(void *handle) {
    call *c = handle;
    if (!c) return;
    for (int i = 0; i < OPERANDS; i++)
        if (c->memory[i]) dnnl_memory_destroy(c->memory[i]);
    for (int i = 0; i < SCRATCH; i++)
        if (c->plain[i]) dnnl_memory_desc_destroy(c->plain[i]);
    if (c->primitive) dnnl_primitive_destroy(c->primitive);
    if (c->descriptor) dnnl_primitive_desc_destroy(c->descriptor);
    if (c->stream) dnnl_stream_destroy(c->stream);
    if (c->engine) dnnl_engine_destroy(c->engine);
    free(c);
}

static int choose(call *c, const question *q, const dnnl_memory_desc_t *wanted, const_dnnl_primitive_attr_t attributes) {
    dnnl_dims_t stride, dilation, before, after;
    dims_of(stride, q->stride, 0), dims_of(dilation, q->dilation, 1);
    dims_of(before, q->before, 0), dims_of(after, q->after, 0);
    int status;
    if (q->kind == CONVOLUTION)
        status = dnnl_convolution_forward_primitive_desc_create(&c->descriptor, c->engine, dnnl_forward_inference,
            dnnl_convolution_direct, wanted[SRC], wanted[WEIGHTS], NULL, wanted[OUT], stride, dilation, before, after,
            attributes);
    else if (q->kind == MATMUL)
        status = dnnl_matmul_primitive_desc_create(
            &c->descriptor, c->engine, wanted[SRC], wanted[WEIGHTS], NULL, wanted[OUT], attributes);
    else
        status = dnnl_inner_product_forward_primitive_desc_create(&c->descriptor, c->engine, dnnl_forward_inference,
            wanted[SRC], wanted[WEIGHTS], NULL, wanted[OUT], attributes);
    for (long i = 0; !status && i < q->implementation; i++) status = dnnl_primitive_desc_next_impl(c->descriptor);
    return status;
}

static int fill(call *c, const question *q, dnnl_memory_desc_t *wanted, dnnl_primitive_attr_t *attributes) {
    static const char *const PLAIN[] = {"a", "ab", "abc", "abcd", "abcde", "abcdef"};
    const long ranks[] = {q->out_rank, q->src_rank, q->weights_rank};
    const long *sizes[] = {q->out, q->src, q->weights};
    const char *tags[] = {q->out_tag, q->src_tag, q->weights_tag};
    int status = 0;
    for (int i = 0; i < SCRATCH && !status; i++) {
        status = described(&c->plain[i], ranks[i], sizes[i], q->bits, PLAIN[ranks[i] - 1]);
        if (!status) status = described(&wanted[i], ranks[i], sizes[i], q->bits, tags[i]);
    }
    if (!status) status = dnnl_engine_create(&c->engine, dnnl_cpu, 0);
    if (!status) status = dnnl_stream_create(&c->stream, c->engine, dnnl_stream_default_flags);
    if (!status) status = dnnl_primitive_attr_create(attributes);
    if (!status) status = dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user);
    if (!status) status = choose(c, q, wanted, *attributes);
    if (!status) status = dnnl_primitive_create(&c->primitive, c->descriptor);
    for (int i = 0; i < OPERANDS && !status; i++) {
        const_dnnl_memory_desc_t md = dnnl_primitive_desc_query_md(c->descriptor, WHAT[i], 0);
        status = dnnl_memory_create(&c->memory[i], md, c->engine, DNNL_MEMORY_NONE);
        c->arguments[i] = (dnnl_exec_arg_t) {SLOT[i], c->memory[i]};
    }
    return status;
}

/* A primitive, or NULL with what oneDNN said in `status`. */
void *bench_onednn_make(const question *q, int *status) {
    call *c = calloc(1, sizeof *c);
    dnnl_memory_desc_t wanted[SCRATCH] = {0};
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_set_primitive_cache_capacity(0); /* the cache mistakes a later implementation for the first */
    *status = c ? fill(c, q, wanted, &attributes) : dnnl_out_of_memory;
    for (int i = 0; i < SCRATCH; i++)
        if (wanted[i]) dnnl_memory_desc_destroy(wanted[i]);
    if (attributes) dnnl_primitive_attr_destroy(attributes);
    if (!*status) return c;
    bench_onednn_free(c);
    return NULL;
}

/* Bytes of output, source, weights and scratchpad in the formats of the primitive. */
void bench_onednn_sizes(const void *handle, long *bytes) {
    const call *c = handle;
    for (int i = 0; i < OPERANDS; i++)
        bytes[i] = (long)dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(c->descriptor, WHAT[i], 0));
}

const char *bench_onednn_name(const void *handle) {
    const char *name = NULL;
    dnnl_primitive_desc_query(((const call *)handle)->descriptor, dnnl_query_impl_info_str, 0, &name);
    return name ? name : "";
}

/* Whether two primitives are one implementation on operands in the same formats. */
int bench_onednn_alike(const void *one, const void *other) {
    const call *a = one, *b = other;
    int same = !strcmp(bench_onednn_name(a), bench_onednn_name(b));
    for (int i = 0; i < SCRATCH && same; i++)
        same = dnnl_memory_desc_equal(dnnl_primitive_desc_query_md(a->descriptor, WHAT[i], 0),
            dnnl_primitive_desc_query_md(b->descriptor, WHAT[i], 0));
    return same;
}

int bench_onednn_bind(void *handle, void *const *buffers) {
    call *c = handle;
    int status = 0;
    for (int i = 0; i < OPERANDS && !status; i++) status = dnnl_memory_set_data_handle(c->memory[i], buffers[i]);
    return status;
}

/* Reorder between a plain array and an operand: outside of what is timed. Refused once a call has failed. */
int bench_onednn_copy(void *handle, int operand, void *plain, int into) {
    call *c = handle;
    dnnl_memory_t outside = NULL;
    dnnl_primitive_desc_t descriptor = NULL;
    dnnl_primitive_t reorder = NULL;
    const_dnnl_memory_desc_t inside = dnnl_primitive_desc_query_md(c->descriptor, WHAT[operand], 0);
    const_dnnl_memory_desc_t from = into ? c->plain[operand] : inside, to = into ? inside : c->plain[operand];
    int status = c->status;
    if (!status) status = dnnl_memory_create(&outside, c->plain[operand], c->engine, plain);
    if (!status) status = dnnl_reorder_primitive_desc_create(&descriptor, from, c->engine, to, c->engine, NULL);
    if (!status) status = dnnl_primitive_create(&reorder, descriptor);
    if (!status) {
        dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, into ? outside : c->memory[operand]},
            {DNNL_ARG_TO, into ? c->memory[operand] : outside}};
        status = dnnl_primitive_execute(reorder, c->stream, 2, arguments);
    }
    if (!status) status = dnnl_stream_wait(c->stream);
    if (reorder) dnnl_primitive_destroy(reorder);
    if (descriptor) dnnl_primitive_desc_destroy(descriptor);
    if (outside) dnnl_memory_destroy(outside);
    return status;
}

void bench_onednn_call(void *handle) {
    call *c = handle;
    int status = dnnl_primitive_execute(c->primitive, c->stream, OPERANDS, c->arguments);
    if (!status) status = dnnl_stream_wait(c->stream);
    if (!c->status) c->status = status;
}

void bench_onednn_threads(int threads) { omp_set_num_threads(threads); }

void bench_onednn_version(int *numbers) {
    const dnnl_version_t *version = dnnl_version();
    numbers[0] = version->major, numbers[1] = version->minor, numbers[2] = version->patch;
}
