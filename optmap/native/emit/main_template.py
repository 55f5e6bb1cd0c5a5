"""The parts of the generated program that are the same for all codes."""

from __future__ import annotations

from string import Template

PROGRAM = Template(r"""/* Checks and times $title.
 *
 * usage: main [-r REPETITIONS] [-c OUTPUTS]
 *   -r  how often the code is called; without it, for half a second and at least five times
 *   -c  how many outputs are checked, chosen by chance; without it, all
 * It exits 0 if the outputs are right, 1 if one is wrong, 2 if it cannot tell. */
#define _POSIX_C_SOURCE 200112L
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

$declarations

/* One output in double: its value, the sum of absolute values of its terms, their number. */
struct sum {
  double value, size;
  long terms;
  int chosen;
};

/* Rounding: every order of adding n products of m factors is within (n + m) u / (1 - (n + m) u) of the sum of absolute
 * values (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); once for the code, once for double. */
static double tolerance(const struct sum *sum) {
  const double code = ((double)sum->terms + $inputs) * ${unit}_EPSILON / 2;
  const double reference = ((double)sum->terms + $inputs) * DBL_EPSILON / 2;
  return (code / (1 - code) + reference / (1 - reference)) * sum->size;
}

static void *rooms[$rooms]; /* freed with the process */
static int used = 0;

static void *room(size_t bytes) {
  void *found = 0;
  if (posix_memalign(&found, $alignment, bytes)) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(2);
  }
  return rooms[used++] = found;
}

static unsigned long state = 1;

static double random_value(void) { /* from -1 to 1 */
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (double)(state >> 40) / 8388608.0 - 1.0;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

$parts
int main(int count, char **words) {
  const long outputs = $outputs;
  long repetitions = 0, checked = outputs;
  for (int i = 1; i < count; i += 2) {
    const long number = i + 1 < count ? atol(words[i + 1]) : 0;
    if (number > 0 && strcmp(words[i], "-r") == 0) {
      repetitions = number;
    } else if (number > 0 && strcmp(words[i], "-c") == 0) {
      checked = number;
    } else {
      fprintf(stderr, "usage: %s [-r REPETITIONS] [-c OUTPUTS]\n", words[0]);
      return 2;
    }
  }
  struct sum *sums = room((size_t)outputs * sizeof *sums);
  memset(sums, 0, (size_t)outputs * sizeof *sums);
  long chosen = 0;
  for (long i = 0; i < outputs; i++) {
    const double drawn = (random_value() + 1) / 2 * (double)(outputs - i);
    sums[i].chosen = checked >= outputs || drawn < (double)(checked - chosen);
    chosen += sums[i].chosen;
  }
$buffers
  $entry($call);
  double worst = 0;
  if (wrong(b0, sums, &worst)) return 1;
  printf("%s: %ld outputs are right, the largest error is %.2g of what rounding allows\n", "$name", chosen, worst);

  const long most = repetitions ? repetitions : 1000;
  double *times = room((size_t)most * sizeof *times);
  long calls = 0;
  for (double spent = 0; calls < most && (repetitions || calls < 5 || spent < 0.5); calls++) {
    const double start = seconds();
    $entry($call);
    times[calls] = seconds() - start;
    spent += times[calls];
  }
  qsort(times, (size_t)calls, sizeof *times, ascending);
  const double least = times[0] > 0 ? times[0] : 1e-9, median = times[calls / 2] > 0 ? times[calls / 2] : 1e-9;
  printf("%ld calls: least %.4g ms, %.4g GFLOPS; median %.4g ms, %.4g GFLOPS\n", calls, 1e3 * least,
         $flops / least / 1e9, 1e3 * median, $flops / median / 1e9);
  return 0;
}
""")
"""What `emit.program` fills in are the names with a dollar sign."""
