"""Shapes: tiny ones for tests and the published ones, each (family, name)."""

T = dict(n_vocab=512)
PRESETS = {
    # ---- tiny -------------------------------------------------------------
    ("granitehybrid", "tiny"): dict(
        T, n_embd=64, n_layer=4, attn_layers=[2], n_head=4, n_kv=2, n_ff=96, d_inner=128,
        ssm_heads=8, ssm_groups=2, d_state=32, d_conv=4, tied=True, attention_scale=0.2,
        embedding_scale=12.0, residual_scale=0.5, logit_scale=6.0),
    ("granitehybrid", "tiny-moe"): dict(
        T, n_embd=64, n_layer=4, attn_layers=[1], n_head=4, n_kv=1, n_ff=32, n_ff_sh=48,
        n_expert=8, n_used=3, d_inner=128, ssm_heads=4, ssm_groups=1, d_state=24, d_conv=4,
        tied=True, attention_scale=0.25, embedding_scale=12.0, residual_scale=0.4,
        logit_scale=3.0),
    ("granitehybrid", "tiny-bamba"): dict(
        T, n_embd=64, n_layer=3, attn_layers=[1], n_head=2, n_kv=1, n_rot=16, rope=True, n_ff=96,
        d_inner=128, ssm_heads=8, ssm_groups=1, d_state=32, d_conv=4),
    ("jamba", "tiny"): dict(
        T, n_embd=64, n_layer=4, attn_layers=[2], moe_layers=[1, 3], n_head=4, n_kv=2, n_ff=80,
        n_expert=4, n_used=2, d_inner=128, d_state=16, dt_rank=4, d_conv=4),
    ("mamba2", "tiny"): dict(
        T, n_embd=64, n_layer=3, d_inner=128, ssm_heads=8, ssm_groups=2, d_state=32, d_conv=4,
        tied=True),
    ("mamba", "tiny"): dict(
        T, n_embd=64, n_layer=3, d_inner=128, d_state=16, dt_rank=4, d_conv=4),
    ("mamba", "tiny-dtbcrms"): dict(
        T, n_embd=64, n_layer=3, d_inner=128, d_state=16, dt_rank=4, d_conv=4, dt_b_c_rms=True),
    ("falcon-h1", "tiny"): dict(
        T, n_embd=64, n_layer=3, n_head=4, n_kv=2, head_dim=24, n_ff=96, d_inner=96, ssm_heads=6,
        ssm_groups=2, d_state=32, d_conv=4),
    ("falcon-h1", "tiny-norm"): dict(
        T, n_embd=64, n_layer=2, n_head=4, n_kv=2, head_dim=24, n_ff=96, d_inner=96, ssm_heads=6,
        ssm_groups=2, d_state=32, d_conv=4, ssm_norm=True),
    ("nemotron_h", "tiny"): dict(
        T, n_embd=64, pattern="M-M*M-", n_layer=6, n_head=4, n_kv=2, head_dim=24, n_ff=128,
        d_inner=96, ssm_heads=6, ssm_groups=2, d_state=32, d_conv=4),
    ("nemotron_h_moe", "tiny"): dict(
        T, n_embd=64, pattern="ME*ME", n_layer=5, n_head=4, n_kv=2, head_dim=16, n_ff=40,
        n_ff_sh=64, n_expert=8, n_used=3, d_inner=96, ssm_heads=6, ssm_groups=2, d_state=32,
        d_conv=4),
    ("qwen35", "tiny"): dict(
        T, n_embd=64, n_layer=4, interval=4, n_head=4, n_kv=2, head_dim=32, n_rot=8,
        sections=[2, 1, 1, 0], n_ff=96, d_inner=64, ssm_heads=4, ssm_groups=2, d_state=16, d_conv=4),
    ("qwen35moe", "tiny"): dict(
        T, n_embd=64, n_layer=4, interval=2, n_head=4, n_kv=1, head_dim=32, n_rot=16,
        sections=[3, 3, 2, 0], n_ff=96, n_ff_exp=24, n_ff_sh=40, n_expert=8, n_used=3,
        d_inner=64, ssm_heads=4, ssm_groups=2, d_state=16, d_conv=4, recurrent_key=False),
    ("qwen3next", "tiny"): dict(
        T, n_embd=64, n_layer=4, interval=4, n_head=4, n_kv=2, head_dim=32, n_rot=8, n_ff=96,
        n_ff_exp=24, n_ff_sh=40, n_expert=8, n_used=3, d_inner=64, ssm_heads=4, ssm_groups=2,
        d_state=16, d_conv=4),
    ("lfm2", "tiny"): dict(
        T, n_embd=64, n_layer=5, attn_layers=[2, 4], n_head=4, n_kv=2, n_ff=96, l_cache=3,
        tied=True),
    ("lfm2moe", "tiny"): dict(
        T, n_embd=64, n_layer=4, attn_layers=[1], n_head=4, n_kv=2, n_ff=96, n_ff_exp=32,
        n_expert=8, n_used=3, dense_lead=1, l_cache=3, tied=True),
    ("llama", "tiny"): dict(T, n_embd=64, n_layer=3, n_head=4, n_kv=2, n_ff=128),
    ("gemma3", "tiny"): dict(
        T, n_embd=64, n_layer=7, n_head=4, n_kv=1, head_dim=32, n_ff=96, window=16, tied=True,
        rope_factor=8.0),
    ("plamo2", "tiny"): dict(
        T, n_embd=64, n_layer=4, attn_layers=[0, 2], n_head=4, n_kv=2, head_dim=16, n_ff=64,
        d_inner=96, ssm_heads=6, ssm_groups=0, d_state=16, d_conv=4),
    ("kimi-linear", "tiny"): dict(
        T, n_embd=64, n_layer=4, attn_layers=[3], n_head=4, kda_dim=16, kv_lora=32, n_rot=8,
        qk_nope=16, v_dim=16, n_ff=96, n_ff_exp=24, n_expert=8, n_used=3, dense_lead=1, d_conv=4),
    ("rwkv7", "tiny"): dict(
        T, n_embd=128, n_layer=2, head_size=64, n_ff=192, r_w=8, r_a=12, r_v=8, r_g=16),
    # ---- small with quantised weights (block size 256 needs rows of 256) ----
    ("granitehybrid", "small-q"): dict(
        T, n_embd=256, n_layer=2, attn_layers=[1], n_head=4, n_kv=2, n_ff=256, d_inner=512,
        ssm_heads=8, ssm_groups=1, d_state=64, d_conv=4, tied=True, attention_scale=0.125,
        embedding_scale=12.0, residual_scale=0.5, logit_scale=6.0),
    ("qwen35", "small-q"): dict(
        T, n_embd=256, n_layer=2, interval=2, n_head=4, n_kv=2, head_dim=64, n_rot=16,
        sections=[3, 3, 2, 0], n_ff=256, d_inner=256, ssm_heads=4, ssm_groups=4, d_state=64,
        d_conv=4),
    # ---- published shapes -----------------------------------------------------
    ("granitehybrid", "granite-4.0-h-350m"): dict(
        n_vocab=100352, n_embd=768, n_layer=32, attn_layers=[10, 13, 17, 27], n_head=12, n_kv=4,
        n_ff=2048, d_inner=1536, ssm_heads=48, ssm_groups=1, d_state=128, d_conv=4, tied=True,
        attention_scale=0.015625, embedding_scale=12.0, residual_scale=0.246, logit_scale=3.0,
        ctx=32768),
    ("granitehybrid", "granite-4.0-h-1b"): dict(
        n_vocab=100352, n_embd=1536, n_layer=40, attn_layers=[5, 15, 25, 35], n_head=12, n_kv=4,
        n_ff=4096, d_inner=3072, ssm_heads=48, ssm_groups=1, d_state=128, d_conv=4, tied=True,
        attention_scale=0.0078125, embedding_scale=12.0, residual_scale=0.22, logit_scale=6.0,
        ctx=131072),
    ("granitehybrid", "granite-4.0-h-tiny"): dict(
        n_vocab=100352, n_embd=1536, n_layer=40, attn_layers=[5, 15, 25, 35], n_head=12, n_kv=4,
        n_ff=512, n_ff_sh=1024, n_expert=64, n_used=6, d_inner=3072, ssm_heads=48, ssm_groups=1,
        d_state=128, d_conv=4, tied=True, attention_scale=0.0078125, embedding_scale=12.0,
        residual_scale=0.22, logit_scale=6.0, ctx=131072),
    ("falcon-h1", "falcon-h1-0.5b"): dict(
        n_vocab=32784, n_embd=1024, n_layer=36, n_head=8, n_kv=2, head_dim=64, n_ff=2048,
        d_inner=1536, ssm_heads=24, ssm_groups=1, d_state=128, d_conv=4, ctx=16384),
    ("nemotron_h", "nemotron-h-4b"): dict(
        n_vocab=131072, n_embd=3072, n_layer=52,
        pattern="M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
        n_head=32, n_kv=8, head_dim=128, n_ff=12288, d_inner=7168, ssm_heads=112, ssm_groups=8,
        d_state=128, d_conv=4, ctx=8192),
    ("qwen35", "qwen3.5-0.8b"): dict(
        n_vocab=248320, n_embd=1024, n_layer=24, interval=4, n_head=8, n_kv=2, head_dim=256,
        n_rot=64, sections=[11, 11, 10, 0], n_ff=3584, d_inner=2048, ssm_heads=16, ssm_groups=16,
        d_state=128, d_conv=4, tied=True, ctx=262144),
    ("qwen35", "qwen3.5-2b"): dict(
        n_vocab=248320, n_embd=2048, n_layer=24, interval=4, n_head=8, n_kv=2, head_dim=256,
        n_rot=64, sections=[11, 11, 10, 0], n_ff=6144, d_inner=2048, ssm_heads=16, ssm_groups=16,
        d_state=128, d_conv=4, tied=True, ctx=262144),
    ("lfm2", "lfm2-350m"): dict(
        n_vocab=65536, n_embd=1024, n_layer=16, attn_layers=[2, 5, 8, 10, 12, 14], n_head=16,
        n_kv=8, n_ff=4608, l_cache=3, tied=True, ctx=128000),
    ("mamba", "mamba-130m"): dict(
        n_vocab=50280, n_embd=768, n_layer=24, d_inner=1536, d_state=16, dt_rank=48, d_conv=4,
        tied=True, ctx=1048576),
    ("mamba2", "mamba2-370m"): dict(
        n_vocab=50288, n_embd=1024, n_layer=48, d_inner=2048, ssm_heads=32, ssm_groups=1,
        d_state=128, d_conv=4, tied=True, ctx=1048576),
}
