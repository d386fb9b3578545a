#!/usr/bin/env node
// Times llama.cpp (as shipped in the npm package node-llama-cpp) on a GGUF file, with tests that `oxbow bench` runs,
// too, so that both can be compared in one run on one machine (compare.py).
//
// `./dev bench --peer MODEL.gguf` fetches the package and runs both; by hand, in a folder of yours:
//   npm install --no-save --omit=optional node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
//   node bench.mjs MODEL.gguf [--threads 2] [--pp 512,2048] [--tg 64] [--depth 512] [--parallel 1,8] [--verify 9] [--repeat 3]
//
// Prints one JSON object: tokens per second, median of the repeats.
//   ppN      prompt of N tokens into an empty sequence
//   tgN@D    N single-token steps after a prompt of D tokens
//   tgN@DxP  the same with P sequences decoded together (tokens per second of all of them)
//   vK@D     K tokens of one sequence in one step after D tokens (what checking a draft costs), --verify K
//   peak_mib peak resident memory of the whole process, Node included (about 60 MiB)
import {createRequire} from "node:module";
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import {pathToFileURL} from "node:url";

const require = createRequire(path.join(process.cwd(), "x.js"));
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(require.resolve("node-llama-cpp")).href);

const [, , file, ...rest] = process.argv;
const opt = Object.fromEntries(rest.map((a, i) => a.startsWith("--") ? [a.slice(2), rest[i + 1]] : null).filter(Boolean));
const threads = +(opt.threads ?? 2), repeat = +(opt.repeat ?? 3), depth = +(opt.depth ?? 512), tg = +(opt.tg ?? 64);
const list = (s) => s.split(",").filter(Boolean).map(Number);
const pps = list(opt.pp ?? "512"), parallels = list(opt.parallel ?? "1");
const median = (a) => a.sort((x, y) => x - y)[a.length >> 1];
const tokens = (n, seed) => Array.from({length: n}, (_, i) => 3 + ((i * 7919 + seed * 104729) % 200));
const seconds = () => Number(process.hrtime.bigint()) / 1e9;

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: threads});
const out = {model: path.basename(file), threads};
let t0 = seconds();
const model = await llama.loadModel({modelPath: file});
out.load_s = +(seconds() - t0).toFixed(3);

for (const n of pps) {
    const ctx = await model.createContext({contextSize: n + 64, batchSize: 512, sequences: 1, threads: {ideal: threads, min: threads}});
    const seq = ctx.getSequence();
    const runs = [];
    for (let r = 0; r <= repeat; r++) {
        await seq.clearHistory();
        t0 = seconds();
        await seq.evaluateWithoutGeneratingNewTokens(tokens(n, r));
        if (r > 0) runs.push(n / (seconds() - t0));
    }
    out[`pp${n}`] = +median(runs).toFixed(2);
    await ctx.dispose();
}
for (const p of parallels) {
    const ctx = await model.createContext({
        contextSize: depth + tg + 64, batchSize: Math.max(512, p), sequences: p, threads: {ideal: threads, min: threads}
    });
    const runs = [];
    const seqs = Array.from({length: p}, () => ctx.getSequence());
    for (let r = 0; r <= repeat; r++) {
        for (const [i, s] of seqs.entries()) {
            await s.clearHistory();
            await s.evaluateWithoutGeneratingNewTokens(tokens(depth, r * 64 + i));
        }
        t0 = seconds();
        await Promise.all(seqs.map(async (s, i) => {
            let n = 0;
            for await (const _ of s.evaluate([5 + i], {temperature: 0, yieldEogToken: true}))
                if (++n >= tg) break;
        }));
        if (r > 0) runs.push(p * tg / (seconds() - t0));
    }
    out[`tg${tg}@${depth}` + (p > 1 ? `x${p}` : "")] = +median(runs).toFixed(2);
    await ctx.dispose();
}
if (opt.verify) {
    const k = +opt.verify, n = 24;
    const ctx = await model.createContext({contextSize: depth + k * n + 64, batchSize: 512, sequences: 1, threads: {ideal: threads, min: threads}});
    const seq = ctx.getSequence();
    await seq.evaluateWithoutGeneratingNewTokens(tokens(depth, 1));
    const runs = [];
    for (let r = 0; r < n; r++) {
        t0 = seconds();
        await seq.evaluateWithoutGeneratingNewTokens(tokens(k, r));
        if (r > 2) runs.push(k / (seconds() - t0));
    }
    out[`v${k}@${depth}`] = +median(runs).toFixed(2);
    await ctx.dispose();
}
const hwm = /VmHWM:\s+(\d+)/.exec(fs.readFileSync("/proc/self/status", "utf8"));
out.peak_mib = hwm ? Math.round(+hwm[1] / 1024) : null;
console.log(JSON.stringify(out));
process.exit(0);
