"""A model under construction: keys, tensors in file order, and the usual quantisation mix."""
import numpy as np

from dequantise import TYPES
from gguf_file import BOOL, FTYPE, I32, STR, U32, Writer
from random_weights import Normal, dt_bias, neg_a, neg_a_s4d, norm_w
from vocabulary import gpt2_vocab, tiny_vocab

KEEP_F32 = ("ffn_gate_inp.", "ssm_conv1d", "shortconv.conv.", "time_mix_first",
            "time_mix_w0.", "time_mix_w1.", "time_mix_w2.", "time_mix_v0.", "time_mix_v1.",
            "time_mix_v2.", "time_mix_a0.", "time_mix_a1.", "time_mix_a2.", "time_mix_g1.",
            "time_mix_g2.", "time_mix_lerp")


class Mix:
    def __init__(self, quant, n_layer, n_attn, tied):
        self.quant, self.n_layer, self.n_attn, self.tied = quant, n_layer, max(1, n_attn), tied
        self.i_v = self.i_mix = 0

    @staticmethod
    def more_bits(i, n):
        return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2

    def pick(self, name, ne):
        t = self._pick(name, ne)
        if TYPES[t][1] > 1 and ne[0] % TYPES[t][1]:
            if t in ("Q4_K", "Q5_K") and ne[0] % 32 == 0:
                t = "Q5_0" if t == "Q4_K" else "Q5_1"
            elif ne[0] % 32 == 0:
                t = "Q8_0"
            else:
                t = "F16"
        return t

    def _pick(self, name, ne):
        q = self.quant
        if (q == "F32" or np.prod(ne[1:]) == 1 or not name.endswith("weight") or "_norm.weight" in name
                or any(k in name for k in KEEP_F32)):
            return "F32"
        if q == "MIX":     # every supported type somewhere, for loader coverage
            types = ("Q8_0", "Q4_K", "F16", "Q6_K", "BF16", "Q5_K", "Q4_0", "Q5_0", "Q4_1",
                     "Q5_1", "Q3_K", "Q2_K")
            self.i_mix += 1
            return types[(self.i_mix - 1) % len(types)]
        if q != "Q4_K_M":
            return q
        if name == "output.weight" or (self.tied and name == "token_embd.weight"):
            return "Q6_K"
        if "attn_qkv" in name:
            self.i_v += 1
            return "Q5_K"
        if "attn_v.weight" in name:
            i, self.i_v = self.i_v, self.i_v + 1
            return "Q6_K" if self.more_bits(i, self.n_attn) else "Q4_K"
        if "ffn_down" in name:
            i = int(name.split(".")[1])
            return "Q6_K" if self.more_bits(i, self.n_layer) else "Q4_K"
        return "Q4_K"


class Model:
    def __init__(self, arch, preset, p, quant):
        self.arch, self.preset, self.p, self.quant = arch, preset, p, quant
        self.w = Writer()
        self.list = []

    # metadata helpers
    def k(self, key, typ, val):
        self.w.add("%s.%s" % (self.arch, key), typ, val)

    def ka(self, key, typ, vals):
        self.w.arr("%s.%s" % (self.arch, key), typ, vals)

    def t(self, name, ne, src):
        self.list.append((name, ne, src))

    def lin(self, name, n_in, n_out, gain=1.0):
        self.t(name + ".weight", [n_in, n_out], Normal(gain / np.sqrt(n_in)))

    def lin3(self, name, n_in, n_out, n_e, gain=1.0):
        self.t(name + ".weight", [n_in, n_out, n_e], Normal(gain / np.sqrt(n_in)))

    def norm(self, name, n, scale=1.0, suffix=".weight"):
        self.t(name + suffix, [n] if np.isscalar(n) else n, norm_w(scale))

    def start(self):
        p, w = self.p, self.w
        w.add("general.architecture", STR, self.arch)
        w.add("general.name", STR, p.get("name", "random-%s-%s" % (self.arch, self.preset)))
        w.add("general.file_type", U32, FTYPE.get(self.quant, 0))
        w.add("general.quantization_version", U32, 2)
        self.k("block_count", U32, p["n_layer"])
        self.k("context_length", U32, p.get("ctx", 8192))
        self.k("embedding_length", U32, p["n_embd"])
        self.k("vocab_size", U32, p["n_vocab"])

    def vocab(self):
        p, w = self.p, self.w
        if p["n_vocab"] <= 2048:
            toks, types, merges, eos = tiny_vocab(p["n_vocab"])
        else:
            toks, types, merges, eos = gpt2_vocab(p["n_vocab"])
        w.add("tokenizer.ggml.model", STR, "gpt2")
        w.add("tokenizer.ggml.pre", STR, "gpt-2")
        w.arr("tokenizer.ggml.tokens", STR, toks)
        w.arr("tokenizer.ggml.token_type", I32, types)
        w.arr("tokenizer.ggml.merges", STR, merges)
        w.add("tokenizer.ggml.bos_token_id", U32, eos)
        w.add("tokenizer.ggml.eos_token_id", U32, eos)
        w.add("tokenizer.ggml.add_bos_token", BOOL, False)

    def embeddings(self, norm_name="output_norm"):
        """token embedding, final norm, output head.  With a tied head the
        embedding is kept small against the block outputs and the final norm is
        scaled up, so that the logits are not just an echo of the input token."""
        p = self.p
        n, v = p["n_embd"], p["n_vocab"]
        ls = p.get("logit_scale") or 1.0
        es = p.get("embedding_scale") or 1.0
        target = p.get("logit_std", 2.5)
        if p.get("tied"):
            std = p.get("embd_std", 0.12) / es
            self.t("token_embd.weight", [n, v], Normal(std))
            self.norm(norm_name, n, target * ls / (np.sqrt(n) * std))
        else:
            self.t("token_embd.weight", [n, v], Normal(1.0 / es))
            self.norm(norm_name, n)
            self.t("output.weight", [n, v], Normal(target * ls / np.sqrt(n)))

    # building blocks -------------------------------------------------------
    def mamba2(self, b, norm=True, conv_bias=True):
        p = self.p
        n, di, nh, g, s, c = (p["n_embd"], p["d_inner"], p["ssm_heads"], p["ssm_groups"],
                              p["d_state"], p["d_conv"])
        ch = di + 2 * g * s
        self.lin(b + "ssm_in", n, 2 * di + 2 * g * s + nh)
        self.t(b + "ssm_conv1d.weight", [c, ch], Normal(0.5))
        if conv_bias:
            self.t(b + "ssm_conv1d.bias", [ch], Normal(0.2))
        self.t(b + "ssm_dt.bias", [nh], dt_bias())
        self.t(b + "ssm_a", [1, nh], neg_a())
        self.t(b + "ssm_d", [1, nh], Normal(0.3, 0.8))
        if norm:
            self.norm(b + "ssm_norm", [di // g, g])
        self.lin(b + "ssm_out", di, n, 1.0 if norm else 1.2)

    def mamba1(self, b, norms=False):
        p = self.p
        n, di, s, c, r = p["n_embd"], p["d_inner"], p["d_state"], p["d_conv"], p["dt_rank"]
        self.lin(b + "ssm_in", n, 2 * di)
        self.t(b + "ssm_conv1d.weight", [c, di], Normal(0.5))
        self.t(b + "ssm_conv1d.bias", [di], Normal(0.2))
        self.lin(b + "ssm_x", di, r + 2 * s, 1.7)
        if norms:
            self.norm(b + "ssm_dt_norm", r)
        self.lin(b + "ssm_dt", r, di, 0.8)
        self.t(b + "ssm_dt.bias", [di], dt_bias())
        if norms:
            self.norm(b + "ssm_b_norm", s)
            self.norm(b + "ssm_c_norm", s)
        self.t(b + "ssm_a", [s, di], neg_a_s4d(s))
        self.t(b + "ssm_d", [di], Normal(0.3, 0.8))
        self.lin(b + "ssm_out", di, n, 1.2)

    def attn(self, b, nh, nkv, hd, out_gain=1.5, q_mult=1, bias=False):
        n = self.p["n_embd"]
        self.lin(b + "attn_q", n, nh * hd * q_mult, 1.4)
        self.lin(b + "attn_k", n, nkv * hd, 1.4)
        self.lin(b + "attn_v", n, nkv * hd)
        self.lin(b + "attn_output", nh * hd, n, out_gain)

    def swiglu(self, b, n_ff, gain=2.0, names=("ffn_gate", "ffn_up", "ffn_down")):
        n = self.p["n_embd"]
        self.lin(b + names[0], n, n_ff)
        self.lin(b + names[1], n, n_ff)
        self.lin(b + names[2], n_ff, n, gain)

    def moe(self, b, n_e, n_ff, gate=True, gain=2.0, bias=False, latent=None):
        n = self.p["n_embd"]
        self.t(b + "ffn_gate_inp.weight", [n, n_e], Normal(1.0 / np.sqrt(n)))
        if bias:
            self.t(b + "exp_probs_b.bias", [n_e], Normal(0.1))
        if latent:
            self.lin(b + "ffn_latent_down", n, latent)
            self.lin(b + "ffn_latent_up", latent, n)
            n = latent
        if gate:
            self.lin3(b + "ffn_gate_exps", n, n_ff, n_e)
        self.lin3(b + "ffn_up_exps", n, n_ff, n_e)
        self.lin3(b + "ffn_down_exps", n_ff, n, n_e, gain)

    def ssm_keys(self, rank=None):
        p = self.p
        self.k("ssm.conv_kernel", U32, p["d_conv"])
        self.k("ssm.inner_size", U32, p["d_inner"])
        self.k("ssm.state_size", U32, p["d_state"])
        self.k("ssm.time_step_rank", U32, rank if rank is not None else p["ssm_heads"])
        if "ssm_groups" in p:
            self.k("ssm.group_count", U32, p["ssm_groups"])

    def finish(self, path):
        n_attn = sum(1 for n, _, _ in self.list if "attn_v.weight" in n or "attn_qkv.weight" in n)
        tied = not any(n == "output.weight" for n, _, _ in self.list)
        mix = Mix(self.quant, self.p["n_layer"], n_attn, tied)
        for name, ne, src in self.list:
            self.w.tensor(name, ne, mix.pick(name, ne), src)
        return self.w.write(path)
