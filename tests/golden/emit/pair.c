/* heads: S[h,m,l] = Q[h,m,k] * K[h,l,k]; P[h,m,l] = exp(S[h,m,l]); O[h,m,n] = P[h,m,l] * V[h,l,n]
 * extents h=2 m=100 l=64 k=32 n=32
 * kernel: plain
 * O: 2 x 100 x 32; subscripts from the slowest: 0 1 2
 * Q: 2 x 100 x 32; subscripts from the slowest: 0 1 2
 * K: 2 x 64 x 32; subscripts from the slowest: 0 1 2
 * V: 2 x 64 x 32; subscripts from the slowest: 0 1 2
 * steps of 1 along lines of tensors are steps of a line, 64 bytes
 * P: a block of 1 x 24 x 16 in the workspace */

_Static_assert(sizeof(long) == 8, "places of elements are counted in 64 bits");

static inline long smaller(long a, long b) { return a < b ? a : b; }

#include <math.h>

static inline float optmap_heads_exp_float(float x) { return expf(x); }

void optmap_heads(float *restrict O, const float *restrict Q, const float *restrict K, const float *restrict V, void *restrict workspace);

void optmap_heads(float *restrict O, const float *restrict Q, const float *restrict K, const float *restrict V, void *restrict workspace) {
  float *restrict P = (float *)((char *)workspace + 0);
  for (long h_0 = 0; h_0 < 2; h_0 += 1) {
    /* buffer keeps K of 0 <= l < 17 */
    for (long m_1 = 0; m_1 < 100; m_1 += 24) {
      const long m_1_end = smaller(m_1 + 24, 100);
      /* buffer keeps Q, O */
      for (long l_2 = 0; l_2 < 64; l_2 += 16) {
        /* buffer keeps P */
        for (long k_3 = 0; k_3 < 32; k_3 += 16) {
          /* buffer keeps K */
          /* S[h,m,l] = Q[h,m,k] * K[h,l,k] */
          if (k_3 == 0) {
            for (long m = m_1; m < m_1_end; m++) {
              for (long l = l_2; l < l_2 + 16; l++) {
                P[16*(m - m_1) + (l - l_2)] = 0;
              }
            }
          }
          for (long m = m_1; m < m_1_end; m++) {
            for (long l = l_2; l < l_2 + 16; l++) {
              for (long k = k_3; k < k_3 + 16; k++) {
                P[16*(m - m_1) + (l - l_2)] += Q[3200*h_0 + 32*m + k] * K[2048*h_0 + 32*l + k];
              }
            }
          }
        }
        /* P[h,m,l] = exp(S[h,m,l]) */
        for (long m = m_1; m < m_1_end; m++) {
          for (long l = l_2; l < l_2 + 16; l++) {
            P[16*(m - m_1) + (l - l_2)] = optmap_heads_exp_float(P[16*(m - m_1) + (l - l_2)]);
          }
        }
        for (long n_3 = 0; n_3 < 32; n_3 += 16) {
          /* buffer keeps V */
          /* O[h,m,n] = P[h,m,l] * V[h,l,n] */
          if (l_2 == 0) {
            for (long m = m_1; m < m_1_end; m++) {
              for (long n = n_3; n < n_3 + 16; n++) {
                O[3200*h_0 + 32*m + n] = 0;
              }
            }
          }
          for (long m = m_1; m < m_1_end; m++) {
            for (long l = l_2; l < l_2 + 16; l++) {
              for (long n = n_3; n < n_3 + 16; n++) {
                O[3200*h_0 + 32*m + n] += P[16*(m - m_1) + (l - l_2)] * V[2048*h_0 + 32*l + n];
              }
            }
          }
        }
      }
    }
  }
}
