/* small layer: Out[k,h] = In[c,h+r in 1..7] * Ker[k,c,r]
 * extents k=5 h=7 c=6 r=3
 * kernel: plain
 * Out: 5 x 7; subscripts from the slowest: 1 0
 * In: 6 x 7 from 0, 1; subscripts from the slowest: 1 0
 * Ker: 5 x 6 x 3; subscripts from the slowest: 0 1 2
 * no microkernel: no core does not say what its core computes with (optmap detect does) */

_Static_assert(sizeof(long) == 8, "places of elements are counted in 64 bits");

static inline long smaller(long a, long b) { return a < b ? a : b; }

static inline void optmap_small_layer_tile(float *restrict Out, const float *restrict In, const float *restrict Ker, long d_k, long n_k, long d_h, long n_h, long d_c, long n_c, long d_r, long n_r) {
  /* the first visit starts from zero */
  if (d_c == 0 && d_r == 0) {
    for (long k = d_k; k < d_k + n_k; k++) {
      for (long h = d_h; h < d_h + n_h; h++) {
        Out[5*h + k] = 0;
      }
    }
  }
  for (long c = d_c; c < d_c + n_c; c++) {
    for (long k = d_k; k < d_k + n_k; k++) {
      for (long h = d_h; h < d_h + n_h; h++) {
        for (long r = d_r; r < d_r + n_r; r++) {
          if (h + r >= 1 && h + r <= 7) {
            Out[5*h + k] += In[6*h + 6*r + c - 6] * Ker[18*k + 3*c + r];
          }
        }
      }
    }
  }
}

static void optmap_small_layer_nest(float *restrict Out, const float *restrict In, const float *restrict Ker, long part) {
  /* L3: tile k=5 h=7 c=6 r=3
   * order k, h, c, r; loops over nothing: one tile
   * split among threads: h in 2 */
  const long h_1_part = part % 2 * 4;
  const long h_1_part_end = smaller(h_1_part + 4, 7);
  if (h_1_part < h_1_part_end) {
    /* L1: tile k=2 h=3 c=4 r=3
     * order c, k, h, r; loops over c, k, h */
    for (long c_0 = 0; c_0 < 6; c_0 += 4) {
      const long c_0_end = smaller(c_0 + 4, 6);
      for (long k_0 = 0; k_0 < 5; k_0 += 2) {
        const long k_0_end = smaller(k_0 + 2, 5);
        for (long h_0 = h_1_part; h_0 < h_1_part_end; h_0 += 3) {
          const long h_0_end = smaller(h_0 + 3, h_1_part_end);
          optmap_small_layer_tile(Out, In, Ker, k_0, k_0_end - k_0, h_0, h_0_end - h_0, c_0, c_0_end - c_0, 0, 3);
        }
      }
    }
  }
}

void optmap_small_layer(float *restrict Out, const float *restrict In, const float *restrict Ker);

void optmap_small_layer(float *restrict Out, const float *restrict In, const float *restrict Ker) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(2)
#endif
  for (long part = 0; part < 2; part++) {
    optmap_small_layer_nest(Out, In, Ker, part);
  }
}
