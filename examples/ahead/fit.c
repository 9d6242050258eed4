/* Fits the decay of decay.atl to measurements, by a model that was built ahead of time: no Atled at run time.
 *
 *   atled build decay.atl -o libdecay.so --header decay.h --functions decay,loss,grad:loss
 *   cc fit.c libdecay.so -Wl,-rpath,. -lm && ./a.out */
#include "decay.h"
#include <math.h>
#include <stdio.h>

enum { N = 20 };

int main(void) {
  double times[N], values[N], amplitude = 1.0, rate = 1.0, loss = 0.0;
  for (int i = 0; i < N; i++) {
    times[i] = 0.25 * i;
    values[i] = 2.0 * exp(-0.5 * times[i]); /* what would be measured */
  }
  for (int step = 0; step < 5000; step++) {
    double by_amplitude, by_rate;
    /* the gradients by times and values aren't wanted: NULL */
    int status = decay_loss_grad(amplitude, rate, times, N, values, N, &loss, &by_amplitude, &by_rate, NULL, NULL);
    if (status != DECAY_OK) {
      fprintf(stderr, "%s\n", decay_last_error());
      return 1;
    }
    amplitude -= 0.5 * by_amplitude;
    rate -= 0.5 * by_rate;
  }
  printf("amplitude %.6f, rate %.6f, loss %.1e\n", amplitude, rate, loss);
  if (decay_loss(amplitude, rate, times, N, values, N - 1, NULL) == DECAY_FAILED)
    printf("as expected: %s\n", decay_last_error()); /* an index is out of bounds: where */
  return 0;
}
