/* The element-wise parts of the network, forward and backward, each in one pass over memory. Training on a CPU spends more time
 * in such passes than in matrix products. "half" below is bfloat16, kept as the upper 16 bits of a float. Built and called by fused.py.
 * Rows are tokens. In backward functions d* are gradients; gradients of weights are added to, those of inputs are written. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t half;

enum { kWidest = 4096 };    /* longest row */

static inline float up(half v) {
    const uint32_t u = (uint32_t)v << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline half down(float f) {      /* round to nearest even */
    uint32_t u;
    memcpy(&u, &f, 4);
    return (half)((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}

static inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/* y = x / rms(x) * w; x [rows, n] float, y half; inverse [rows] is kept for the backward pass. */
void norm_forward(const float* x, const float* w, half* y, float* inverse, long rows, long n, float eps) {
    for (long r = 0; r < rows; ++r, x += n, y += n) {
        float sum = 0;
        for (long i = 0; i < n; ++i) sum += x[i] * x[i];
        const float s = inverse[r] = 1.0f / sqrtf(sum / n + eps);
        for (long i = 0; i < n; ++i) y[i] = down(x[i] * s * w[i]);
    }
}

void norm_backward(const half* dy, const float* x, const float* w, const float* inverse, float* dx, float* dw, long rows, long n) {
    for (long r = 0; r < rows; ++r, x += n, dy += n, dx += n) {
        const float s = inverse[r];
        float dot = 0;
        for (long i = 0; i < n; ++i) {
            const float g = up(dy[i]);
            dot += g * w[i] * x[i];
            dw[i] += g * x[i] * s;
        }
        const float back = dot * s * s * s / n;
        for (long i = 0; i < n; ++i) dx[i] = up(dy[i]) * w[i] * s - x[i] * back;
    }
}

/* v = y * silu(z), out = v / rms(v) * w: the end of a Mamba-2 block. y, out [rows, n] half; z half with its own row stride. */
void gate_forward(const half* y, const half* z, long z_stride, const float* w, half* out, float* inverse, long rows, long n, float eps) {
    for (long r = 0; r < rows; ++r, y += n, z += z_stride, out += n) {
        float v[kWidest], sum = 0;
        for (long i = 0; i < n; ++i) {
            const float g = up(z[i]);
            v[i] = up(y[i]) * g * sigmoid(g);
            sum += v[i] * v[i];
        }
        const float s = inverse[r] = 1.0f / sqrtf(sum / n + eps);
        for (long i = 0; i < n; ++i) out[i] = down(v[i] * s * w[i]);
    }
}

/* dz has the row stride of z. */
void gate_backward(const half* dout, const half* y, const half* z, long z_stride, const float* w, const float* inverse, half* dy, half* dz,
                   float* dw, long rows, long n) {
    for (long r = 0; r < rows; ++r, dout += n, y += n, z += z_stride, dy += n, dz += z_stride) {
        const float s = inverse[r];
        float v[kWidest], open[kWidest], dot = 0;
        for (long i = 0; i < n; ++i) {
            const float d = up(dout[i]), g = up(z[i]);
            open[i] = sigmoid(g);
            v[i] = up(y[i]) * g * open[i];
            dot += d * w[i] * v[i];
            dw[i] += d * v[i] * s;
        }
        const float back = dot * s * s * s / n;
        for (long i = 0; i < n; ++i) {
            const float dv = up(dout[i]) * w[i] * s - v[i] * back, g = up(z[i]);
            dy[i] = down(dv * g * open[i]);
            dz[i] = down(dv * up(y[i]) * open[i] * (1 + g * (1 - open[i])));
        }
    }
}

/* out = silu(gate) * up; all [n] half. */
void swiglu_forward(const half* gate, const half* lift, half* out, long n) {
    for (long i = 0; i < n; ++i) {
        const float g = up(gate[i]);
        out[i] = down(g * sigmoid(g) * up(lift[i]));
    }
}

void swiglu_backward(const half* dout, const half* gate, const half* lift, half* dgate, half* dlift, long n) {
    for (long i = 0; i < n; ++i) {
        const float g = up(gate[i]), open = sigmoid(g), d = up(dout[i]);
        dlift[i] = down(d * g * open);
        dgate[i] = down(d * up(lift[i]) * open * (1 + g * (1 - open)));
    }
}

/* out = silu(bias + sum over taps of w[tap] * x[t - (taps - 1) + tap]), x [b, t, n] half with a row stride, w [taps, n]. */
enum { kTaps = 4 };

static void taps_of(const half* x, long stride, const float* w, const float* bias, float* v, long t, long n) {
    memcpy(v, bias, n * sizeof(float));
    for (long k = 0; k < kTaps; ++k) {
        if (t + k < kTaps - 1) continue;
        const half* row = x + (t - (kTaps - 1) + k) * stride;
        const float* tap = w + k * n;
        for (long i = 0; i < n; ++i) v[i] += tap[i] * up(row[i]);
    }
}

void conv_forward(const half* x, long stride, const float* w, const float* bias, half* out, long batch, long tokens, long n) {
    float v[kWidest];
    for (long b = 0; b < batch; ++b, x += tokens * stride)
        for (long t = 0; t < tokens; ++t, out += n) {
            taps_of(x, stride, w, bias, v, t, n);
            for (long i = 0; i < n; ++i) out[i] = down(v[i] * sigmoid(v[i]));
        }
}

/* dx has the row stride of x. */
void conv_backward(const half* dout, const half* x, long stride, const float* w, const float* bias, half* dx, float* dw, float* dbias,
                   long batch, long tokens, long n) {
    float v[kWidest], ring[kTaps][kWidest];       /* gradients of the last taps tokens before silu */
    for (long b = 0; b < batch; ++b, x += tokens * stride, dout += tokens * n, dx += tokens * stride) {
        memset(ring, 0, sizeof ring);
        for (long t = tokens - 1; t >= 0; --t) {
            float* dv = ring[t % kTaps];
            const half* g = dout + t * n;
            taps_of(x, stride, w, bias, v, t, n);
            for (long i = 0; i < n; ++i) {
                const float open = sigmoid(v[i]);
                dv[i] = up(g[i]) * open * (1 + v[i] * (1 - open));
                dbias[i] += dv[i];
                v[i] = 0;
            }
            for (long k = 0; k < kTaps; ++k) {
                if (t + k >= kTaps - 1) {
                    const half* row = x + (t - (kTaps - 1) + k) * stride;
                    float* tap = dw + k * n;
                    for (long i = 0; i < n; ++i) tap[i] += dv[i] * up(row[i]);
                }
                const long later = t + (kTaps - 1) - k;     /* x[t] is tap k of this token */
                if (later < tokens) {
                    const float *other = ring[later % kTaps], *tap = w + k * n;
                    for (long i = 0; i < n; ++i) v[i] += other[i] * tap[i];
                }
            }
            for (long i = 0; i < n; ++i) dx[t * stride + i] = down(v[i]);
        }
    }
}

/* The Mamba-2 recurrence, per head: S = exp(dt a) S + B (dt x)^T; y = S^T C + d x, with dt = softplus(raw + bias).
 *
 * in [b, t, heads * kHead + 2 kState] half holds x, B and C of a token; raw [b, t, heads] half has its own row stride. States are
 * [kState, kHead] float. Every kChunk tokens the state is kept in `kept` [b, heads, ceil(t / kChunk), kState, kHead]: the backward pass
 * starts from these and computes the states between again. */
enum { kHead = 64, kState = 32, kChunk = 32, kCells = kHead * kState };

static inline float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }

static void advance(float* s, const half* x, const half* B, float dt, float decay) {
    float in[kHead];
    for (long p = 0; p < kHead; ++p) in[p] = dt * up(x[p]);
    for (long k = 0; k < kState; ++k) {
        const float b = up(B[k]);
        for (long p = 0; p < kHead; ++p) s[k * kHead + p] = s[k * kHead + p] * decay + b * in[p];
    }
}

void scan_forward(const half* in, const half* raw, long raw_stride, const float* bias, const float* a, const float* d, half* y, float* kept,
                  long batch, long tokens, long heads) {
    const long width = heads * kHead + 2 * kState;
    for (long b = 0; b < batch; ++b, in += tokens * width, raw += tokens * raw_stride, y += tokens * heads * kHead)
        for (long h = 0; h < heads; ++h) {
            float s[kCells] = {0};
            for (long t = 0; t < tokens; ++t) {
                const half *x = in + t * width + h * kHead, *B = in + t * width + heads * kHead, *C = B + kState;
                if (t % kChunk == 0) {
                    memcpy(kept, s, sizeof s);
                    kept += kCells;
                }
                const float dt = softplus(up(raw[t * raw_stride + h]) + bias[h]);
                advance(s, x, B, dt, expf(dt * a[h]));
                float out[kHead];
                for (long p = 0; p < kHead; ++p) out[p] = d[h] * up(x[p]);
                for (long k = 0; k < kState; ++k) {
                    const float c = up(C[k]);
                    for (long p = 0; p < kHead; ++p) out[p] += c * s[k * kHead + p];
                }
                for (long p = 0; p < kHead; ++p) y[(t * heads + h) * kHead + p] = down(out[p]);
            }
        }
}

/* One token backwards. s is the state after it, before the one it started from; ds comes in as the gradient of s from later tokens and
 * leaves as that of `before`. Returns the gradient of dt by way of its input and adds to dB, dC [kState]; writes dx. */
static float retreat(const float* s, const float* before, float* ds, const half* x, const half* B, const half* C, const half* dy, float dt,
                     float decay, float d, float* dB, float* dC, half* dx, float* ddecay) {
    float in[kHead], out[kHead], din[kHead] = {0}, lost = 0, ddt = 0;
    for (long p = 0; p < kHead; ++p) {
        in[p] = dt * up(x[p]);
        out[p] = up(dy[p]);
    }
    for (long k = 0; k < kState; ++k) {
        const float b = up(B[k]), c = up(C[k]);
        float db = 0, dc = 0;
        for (long p = 0; p < kHead; ++p) {
            const long i = k * kHead + p;
            const float g = ds[i] + c * out[p];
            dc += s[i] * out[p];
            db += g * in[p];
            din[p] += g * b;
            lost += g * before[i];
            ds[i] = g * decay;
        }
        dB[k] += db;
        dC[k] += dc;
    }
    for (long p = 0; p < kHead; ++p) {
        ddt += din[p] * up(x[p]);
        dx[p] = down(din[p] * dt + d * out[p]);
    }
    *ddecay = lost;
    return ddt;
}

/* din has the shape of in; draw the row stride of raw. `scratch` holds (kChunk + 1) states and 2 kState floats per token of a sequence. */
void scan_backward(const half* dy, const half* in, const half* raw, long raw_stride, const float* bias, const float* a, const float* d,
                   const float* kept, half* din, half* draw, float* dbias, float* da, float* dd, float* scratch, long batch, long tokens,
                   long heads) {
    const long width = heads * kHead + 2 * kState, chunks = (tokens + kChunk - 1) / kChunk;
    float *states = scratch, *dBC = scratch + (kChunk + 1) * kCells;
    for (long b = 0; b < batch; ++b) {
        memset(dBC, 0, tokens * 2 * kState * sizeof(float));
        for (long h = 0; h < heads; ++h) {
            float ds[kCells] = {0}, dts[kChunk], decays[kChunk];
            for (long c = chunks - 1; c >= 0; --c) {
                const long first = c * kChunk, n = tokens - first < kChunk ? tokens - first : kChunk;
                memcpy(states, kept + (h * chunks + c) * kCells, kCells * sizeof(float));
                for (long i = 0; i < n; ++i) {
                    const half* token = in + (first + i) * width;
                    float* s = states + (i + 1) * kCells;
                    dts[i] = softplus(up(raw[(first + i) * raw_stride + h]) + bias[h]);
                    decays[i] = expf(dts[i] * a[h]);
                    memcpy(s, s - kCells, kCells * sizeof(float));
                    advance(s, token + h * kHead, token + heads * kHead, dts[i], decays[i]);
                }
                for (long i = n - 1; i >= 0; --i) {
                    const long t = first + i;
                    const half *x = in + t * width + h * kHead, *B = in + t * width + heads * kHead, *g = dy + (t * heads + h) * kHead;
                    const float* before = states + i * kCells;
                    float* sums = dBC + t * 2 * kState;
                    float ddecay, skip = 0;
                    float ddt = retreat(before + kCells, before, ds, x, B, B + kState, g, dts[i], decays[i], d[h], sums, sums + kState,
                                        din + t * width + h * kHead, &ddecay);
                    for (long p = 0; p < kHead; ++p) skip += up(g[p]) * up(x[p]);
                    dd[h] += skip;
                    da[h] += ddecay * decays[i] * dts[i];
                    ddt += ddecay * decays[i] * a[h];
                    const float inner = ddt * sigmoid(up(raw[t * raw_stride + h]) + bias[h]);
                    dbias[h] += inner;
                    draw[t * raw_stride + h] = down(inner);
                }
            }
        }
        for (long t = 0; t < tokens; ++t)
            for (long i = 0; i < 2 * kState; ++i) din[t * width + heads * kHead + i] = down(dBC[t * 2 * kState + i]);
        in += tokens * width;
        din += tokens * width;
        raw += tokens * raw_stride;
        draw += tokens * raw_stride;
        dy += tokens * heads * kHead;
        kept += heads * chunks * kCells;
    }
}

/* Sum over rows of -weight log softmax(logits)[target]; its gradient replaces the logits. logits [rows, n] half. */
float entropy(half* logits, const int64_t* target, const float* weight, long rows, long n) {
    double total = 0;
    for (long r = 0; r < rows; ++r, logits += n) {
        float top = up(logits[0]), sum = 0;
        for (long i = 0; i < n; ++i) top = fmaxf(top, up(logits[i]));
        for (long i = 0; i < n; ++i) sum += expf(up(logits[i]) - top);
        const float right = up(logits[target[r]]), scale = weight[r] / sum;
        total += weight[r] * (logf(sum) + top - right);
        for (long i = 0; i < n; ++i) logits[i] = down(expf(up(logits[i]) - top) * scale);
        logits[target[r]] = down(expf(right - top) * scale - weight[r]);
    }
    return (float)total;
}
