#!/usr/bin/env node
// Times the conversation of bench/turns.cpp with llama.cpp, as the npm package node-llama-cpp runs it: seconds
// from a prompt to its end, which is when the first token can be chosen.
//
//   node turns.mjs MODEL.gguf [--threads 2] [--repeat 3]
//
// In a folder where node-llama-cpp is installed (tools/peer/bench.mjs says how). Every row is measured twice:
// with the package's defaults, and "taken": with takeCheckpoint() after every message, which the package offers to
// programs that know they need it.
import {createRequire} from "node:module";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import {pathToFileURL} from "node:url";

const require = createRequire(path.join(process.cwd(), "x.js"));
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(require.resolve("node-llama-cpp")).href);

const [, , file, ...rest] = process.argv;
const opt = Object.fromEntries(rest.map((a, i) => a.startsWith("--") ? [a.slice(2), rest[i + 1]] : null).filter(Boolean));
const threads = +(opt.threads ?? 2), repeat = +(opt.repeat ?? 3);
const context = 4096, system = 200, user = 150, reply = 100;
const seconds = () => Number(process.hrtime.bigint()) / 1e9;
const median = (a) => a.sort((x, y) => x - y)[a.length >> 1];
const message = (n, seed) => Array.from({length: n}, (_, i) => 3 + ((i + 1) * 2654435761 + seed * 40503 * (i + 7)) % 997 % 200);
const conversation = (turn, round, variant = 0) => {
    const out = message(system, 1 + round * 1000);
    for (let t = 1; t <= turn; t++) {
        out.push(...message(user, 10 + 2 * t + round * 1000 + (t === turn ? variant * 100 : 0)));
        if (t < turn) out.push(...message(reply, 11 + 2 * t + round * 1000));
    }
    return out;
};
const answer = (turn, round) => message(reply, 11 + 2 * turn + round * 1000);

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: threads});
const model = await llama.loadModel({modelPath: file});
const rows = {};
const add = (name, timed) => (rows[name] ??= []).push(timed);

// Brings a sequence to a prompt; its last token is evaluated again so that there are logits to choose from.
async function prompt(seq, tokens, take) {
    const start = seconds();
    await seq.adaptStateToTokens(tokens.slice(0, -1), false);
    const reused = seq.nextTokenIndex;
    await seq.evaluateWithoutGeneratingNewTokens(tokens.slice(reused));
    const timed = {seconds: seconds() - start, tokens: tokens.length, reused};
    if (take) await seq.takeCheckpoint();
    return timed;
}

async function conversationRound(round, take) {
    const suffix = take ? "_taken" : "";
    const ctx = await model.createContext({contextSize: context, batchSize: 512, sequences: 2, threads: {ideal: threads, min: threads}});
    const seq = ctx.getSequence();
    const say = async (turn) => {
        await seq.evaluateWithoutGeneratingNewTokens(answer(turn, round));
        if (take) await seq.takeCheckpoint();
    };
    for (let turn = 1; turn <= 10; turn++) {
        const timed = await prompt(seq, conversation(turn, round), take);
        if (turn === 10) add("turn_10" + suffix, timed);
        await say(turn);
    }
    add("regenerate" + suffix, await prompt(seq, conversation(10, round), take));
    await say(10);
    const saved = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "turns-")), "state.bin");
    await seq.saveStateToFile(saved);
    add("fork" + suffix, await prompt(ctx.getSequence(), conversation(10, round, 2), take));
    add("edit" + suffix, await prompt(seq, conversation(7, round, 1), take));
    await ctx.dispose();
    const fresh = await model.createContext({contextSize: context, batchSize: 512, sequences: 2, threads: {ideal: threads, min: threads}});
    const again = fresh.getSequence();
    const start = seconds();
    await again.loadStateFromFile(saved, {acceptRisk: true});
    const timed = await prompt(again, conversation(11, round), false);
    add("restart" + suffix, {...timed, seconds: seconds() - start});
    fs.rmSync(path.dirname(saved), {recursive: true});
    if (!take) {
        for (const [name, tokens] of [["cold_turn_10", conversation(10, round)], ["cold_edit", conversation(7, round, 1)], ["cold_turn_11", conversation(11, round)]]) {
            await again.clearHistory();
            add(name, await prompt(again, tokens, false));
        }
    }
    await fresh.dispose();
}

for (let round = 0; round < repeat; round++) {
    await conversationRound(round, false);
    await conversationRound(round, true);
}
const out = {model: path.basename(file), threads};
for (const [name, timed] of Object.entries(rows))
    out[name] = {seconds: +median(timed.map((t) => t.seconds)).toFixed(4), tokens: timed[0].tokens, reused: timed[0].reused};
console.log(JSON.stringify(out));
process.exit(0);
