/* attention: S[m,l] = A[m,k] * B[k,l] if l <= m; P[m,l] = softmax(0.5 * S[m,l], l) if l <= m; C[m,n] = P[m,l] * D[l,n] if l <= m
 * extents m=100 l=64 k=32 n=32
 * kernel: plain
 * C: 100 x 32; subscripts from the slowest: 0 1
 * A: 100 x 32; subscripts from the slowest: 0 1
 * B: 32 x 64; subscripts from the slowest: 0 1
 * D: 64 x 32; subscripts from the slowest: 0 1
 * P: a block of 24 x 16 in the workspace */

_Static_assert(sizeof(long) == 8, "places of elements are counted in 64 bits");

static inline long smaller(long a, long b) { return a < b ? a : b; }

#include <math.h>

void optmap_attention(float *restrict C, const float *restrict A, const float *restrict B, const float *restrict D, void *restrict workspace);

void optmap_attention(float *restrict C, const float *restrict A, const float *restrict B, const float *restrict D, void *restrict workspace) {
  float *restrict P = (float *)((char *)workspace + 0);
  float *restrict P_row = (float *)((char *)workspace + 1536);
  for (long m_0 = 0; m_0 < 100; m_0 += 24) {
    const long m_0_end = smaller(m_0 + 24, 100);
    /* buffer keeps A, C, P.row */
    for (long m = m_0; m < m_0_end; m++) {
      float *const row = P_row + 4*(m - m_0);
      row[0] = -INFINITY;
      row[1] = 0;
      row[2] = -INFINITY;
      row[3] = 1;
    }
    for (long l_1 = 0; l_1 < 64; l_1 += 16) {
      /* buffer keeps S, B, D */
      /* S[m,l] = A[m,k] * B[k,l] if l <= m */
      for (long m = m_0; m < m_0_end; m++) {
        for (long l = l_1; l < l_1 + 16; l++) {
          P[16*(m - m_0) + (l - l_1)] = 0;
        }
      }
      for (long m = m_0; m < m_0_end; m++) {
        for (long k = 0; k < 32; k++) {
          for (long l = l_1; l < l_1 + 16; l++) {
            if (l <= m) {
              P[16*(m - m_0) + (l - l_1)] += A[32*m + k] * B[64*k + l];
            }
          }
        }
      }
      /* P[m,l] = softmax(0.5 * S[m,l], l) if l <= m */
      for (long m = m_0; m < m_0_end; m++) {
        float *const row = P_row + 4*(m - m_0);
        for (long l = l_1; l < l_1 + 16; l++) {
          if (l <= m) {
            P[16*(m - m_0) + (l - l_1)] = 0.5f * P[16*(m - m_0) + (l - l_1)];
            if (P[16*(m - m_0) + (l - l_1)] > row[0]) row[0] = P[16*(m - m_0) + (l - l_1)];
          }
        }
      }
      /* what P[m,l] is worth by its row so far */
      for (long m = m_0; m < m_0_end; m++) {
        float *const row = P_row + 4*(m - m_0);
        row[3] = row[2] == row[0] ? 1 : expf(row[2] - row[0]);
        row[1] *= row[3];
        row[2] = row[0];
        for (long l = l_1; l < l_1 + 16; l++) {
          if (l <= m) {
            row[1] += P[16*(m - m_0) + (l - l_1)] = P[16*(m - m_0) + (l - l_1)] == row[0] ? 1 : expf(P[16*(m - m_0) + (l - l_1)] - row[0]);
          }
        }
      }
      /* C[m,n] = P[m,l] * D[l,n] if l <= m */
      if (l_1 == 0) {
        for (long m = m_0; m < m_0_end; m++) {
          for (long n = 0; n < 32; n++) {
            C[32*m + n] = 0;
          }
        }
      }
      for (long m = m_0; m < m_0_end; m++) {
        for (long n = 0; n < 32; n++) {
          float *const row = P_row + 4*(m - m_0);
          C[32*m + n] *= row[3];
        }
      }
      for (long m = m_0; m < m_0_end; m++) {
        for (long l = l_1; l < l_1 + 16; l++) {
          if (l <= m) {
            for (long n = 0; n < 32; n++) {
              C[32*m + n] += P[16*(m - m_0) + (l - l_1)] * D[32*l + n];
            }
          }
        }
      }
      if (l_1 + 16 == 64) {
        for (long m = m_0; m < m_0_end; m++) {
          for (long n = 0; n < 32; n++) {
            float *const row = P_row + 4*(m - m_0);
            C[32*m + n] *= row[1] == 0 ? 1 : 1 / row[1];
          }
        }
      }
    }
  }
}
