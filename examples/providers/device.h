/* SPDX-License-Identifier: Apache-2.0
 * device.h - what the device of compile.c can do. Plain C that knows nothing of Onyx: your own library goes here. */
#include <math.h>
#include <stdint.h>

/* The window of a Conv or MaxPool: rows and columns; pads are top, left, bottom, right. */
typedef struct {
  const int64_t *size, *step, *pads;
} window;

/* Conv, Relu and MaxPool as one. Shapes of the input, the weights and the output are NCHW, each with its numbers. */
typedef struct {
  window conv, pool;
  const int64_t *in_shape, *weights_shape, *out_shape;
  const float *in, *weights, *bias;
  float *out;
} row_job;

/* The Relu of the Conv at |row|, |column|; outside of the Conv's output less than anything. */
static float relu_at(const row_job *k, int64_t image, int64_t channel, int64_t row, int64_t column) {
  const int64_t *x = k->in_shape, *w = k->weights_shape, *pads = k->conv.pads;
  const float *weight = k->weights + channel * w[1] * w[2] * w[3];
  int64_t top = row * k->conv.step[0] - pads[0], left = column * k->conv.step[1] - pads[1];
  float sum = k->bias[channel];
  if (row < 0 || column < 0 || top + w[2] > x[2] + pads[2] || left + w[3] > x[3] + pads[3]) return -INFINITY;
  for (int64_t c = 0; c < w[1]; c++)
    for (int64_t i = top; i < top + w[2]; i++)
      for (int64_t j = left; j < left + w[3]; j++, weight++)
        if (i >= 0 && i < x[2] && j >= 0 && j < x[3])
          sum += *weight * k->in[((image * x[1] + c) * x[2] + i) * x[3] + j];
  return sum < 0 ? 0 : sum;
}

/* Numbers [begin, end) of the output of a row_job; on many threads at a time. */
static void run_row(void *job, int64_t begin, int64_t end) {
  const row_job *k = job;
  const int64_t *y = k->out_shape, *size = k->pool.size, *step = k->pool.step, *pads = k->pool.pads;
  for (int64_t at = begin; at < end; at++) {
    int64_t image = at / (y[1] * y[2] * y[3]), channel = at / (y[2] * y[3]) % y[1];
    int64_t top = at / y[3] % y[2] * step[0] - pads[0], left = at % y[3] * step[1] - pads[1];
    float most = -INFINITY;
    for (int64_t i = 0; i < size[0] * size[1]; i++) {
      float v = relu_at(k, image, channel, top + i / size[1], left + i % size[1]);
      most = v > most ? v : most;
    }
    k->out[at] = most;
  }
}
