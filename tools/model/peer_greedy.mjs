#!/usr/bin/env node
// Continues a prompt greedily with llama.cpp (as shipped in the npm package node-llama-cpp), to compare another engine with it.
//
//   npm install --no-save --omit=optional node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1   (in a folder of your own, run there)
//   node peer_greedy.mjs MODEL.gguf 5,17,4 [COUNT] [--text]
//
// Prints the ids of COUNT (default 32) tokens, separated by commas; ends early after an end-of-generation token. With --text the
// prompt is text, in which special tokens are recognised, and the ids of the prompt are printed first, on a line of their own.
import {createRequire} from "node:module";
import path from "node:path";
import process from "node:process";
import {pathToFileURL} from "node:url";

const args = process.argv.slice(2), asText = args.includes("--text");
const [file, prompt, count = "32"] = args.filter((a) => a !== "--text");
if (!prompt) {
    console.error("usage: peer_greedy.mjs MODEL.gguf TOKEN_IDS|TEXT [COUNT] [--text]");
    process.exit(2);
}
const require = createRequire(path.join(process.cwd(), "x.js"));
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(require.resolve("node-llama-cpp")).href);
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: file});
const ids = asText ? [...model.tokenize(prompt, true)] : prompt.split(",").map(Number);
if (asText)
    console.log(ids.join(","));
const context = await model.createContext({contextSize: ids.length + Number(count) + 16, sequences: 1, threads: 1});
const sequence = context.getSequence();
const out = [];
for await (const token of sequence.evaluate(ids, {temperature: 0, yieldEogToken: true})) {
    out.push(token);
    if (out.length >= Number(count) || model.isEogToken(token))
        break;
}
console.log(out.join(","));
process.exit(0);
