// Renders chat templates with npm's @huggingface/jinja, in the way of jinja_oracle.py.
//
//     node jinja_peer.mjs PACKAGES FOLDER
//
// PACKAGES holds node_modules; FOLDER holds *.jinja, conversations.json and snippets.json (tests/text/templates).
// Prints a JSON list with an object per rendering: template, conversation and either text or error.
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";

const [packages, folder] = process.argv.slice(2);
const {Template} = createRequire(path.resolve(packages, "x.js"))("@huggingface/jinja");

const read = (name) => fs.readFileSync(path.join(folder, name), "utf8");
const conversations = JSON.parse(read("conversations.json"));
const snippets = JSON.parse(read("snippets.json"));

// The clock of jinja_oracle.py.
globalThis.Date = class extends Date {
    constructor(...args) {
        super(...(args.length ? args : [2026, 2, 5, 9, 7, 8]));
    }
};

function render(source, variables) {
    try {
        return {text: new Template(source).render(variables)};
    } catch (error) {
        return {error: `${error.name}: ${error.message}`};
    }
}

const results = [];
for (const template of fs.readdirSync(folder).filter((name) => name.endsWith(".jinja")).sort()) {
    const source = read(template);
    for (const conversation of conversations) {
        const variables = {tools: null, documents: null, add_generation_prompt: true, bos_token: "<s>", eos_token: "</s>"};
        for (const name of ["messages", "tools", "documents", "add_generation_prompt"]) {
            if (name in conversation) variables[name] = conversation[name];
        }
        Object.assign(variables, conversation.arguments ?? {});
        results.push({...render(source, variables), template, conversation: conversation.name});
    }
}
for (const source of snippets.sources) {
    const variables = {
        messages: null, tools: null, documents: null, add_generation_prompt: true, bos_token: "", eos_token: "",
        ...snippets.variables,
    };
    results.push({...render(source, variables), template: source, conversation: ""});
}
process.stdout.write(JSON.stringify(results));
