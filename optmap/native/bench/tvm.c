/* Calls a function of TVM: its C interface takes tagged values, arrays by their DLPack description. */
#include <stdint.h>

/* As TVMFFIAny of tvm/ffi/c_api.h. */
typedef struct {
    int32_t kind;
    uint32_t rest;
    union {
        int64_t number;
        void *pointer;
    } value;
} any;

typedef int called(void *function, any *arguments, int32_t count, any *result);

typedef struct {
    called *call;
    void *function;
    any arguments[3];
    int64_t status; /* not 0 once a call has failed */
} bound;

void bench_tvm(void *context) {
    bound *b = context;
    any arguments[3] = {b->arguments[0], b->arguments[1], b->arguments[2]};
    any result = {0, 0, {0}};
    b->status |= b->call(b->function, arguments, 3, &result);
}
