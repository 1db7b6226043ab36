// Asks Perfetto's own trace processor, as its page runs it in a worker: the script and its
// wasm, with what a browser has and node has not stood in for.
//
// node trace_processor.js FOLDER QUERIES TRACE...
// prints the rows of each query, for each trace, as JSON; the queries are a list in JSON, too.
"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, queries, ...traces] = process.argv.slice(2);
const CHUNK = 32 << 20;
// TraceProcessorRpc.TraceProcessorMethod
const [APPEND, FINALIZE, QUERY, RESET] = [1, 2, 3, 11];

function varint(value) {
  const bytes = [];
  for (; value >= 0x80; value = Math.floor(value / 128)) bytes.push((value % 128) | 0x80);
  return [...bytes, value];
}

function field(number, data) {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(data.length)]), data]);
}

// The fields of a message: number and value, where that is bytes or a BigInt.
function* fields(bytes) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(next());
    if (key % 8 === 0) {
      yield [key >> 3, next()];
    } else {
      const length = key % 8 === 1 ? 8 : Number(next());
      yield [key >> 3, bytes.subarray(at, (at += length))];
    }
  }
}

const decoded = (bytes) => Buffer.from(bytes).toString("utf8");
const packed = (bytes) => {
  const values = [];
  let [value, shift] = [0n, 0n];
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte < 0x80) {
      values.push(Number(BigInt.asIntN(64, value)));
      [value, shift] = [0n, 0n];
    }
  }
  return values;
};

// QueryResult: cells by kind, whose values stand in a column for each kind.
function rows(results) {
  let columns = 0;
  const cells = [];
  for (const result of results) {
    for (const [number, value] of fields(result)) {
      if (number === 1) columns++;
      if (number === 2) throw new Error(decoded(value));
      if (number !== 3) continue;
      const batch = { 1: [], 2: [], 3: [], 5: [] };
      for (const [kind, bytes] of fields(value)) {
        if (kind === 1 || kind === 2) batch[kind] = packed(bytes);
        if (kind === 3) for (let i = 0; i < bytes.length; i += 8) batch[3].push(Buffer.from(bytes).readDoubleLE(i));
        if (kind === 5) batch[5] = decoded(bytes).split("\0");
      }
      for (const kind of batch[1]) {
        cells.push(kind === 2 ? batch[2].shift() : kind === 3 ? batch[3].shift() : kind === 4 ? batch[5].shift() : null);
      }
    }
  }
  const rows = [];
  for (let i = 0; i < cells.length; i += columns) rows.push(cells.slice(i, i + columns));
  return rows;
}

globalThis.self = globalThis;
globalThis.location = { href: "" };
globalThis.importScripts = () => {};
globalThis.WorkerGlobalScope = class {};
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.bytes = fs.readFileSync(path.join(folder, path.basename(url)));
  }
  send() {
    this.status = 200;
    this.response = new Uint8Array(this.bytes).buffer;
  }
};
// Without this it would take itself for a program of node.
const node = process;
globalThis.process = undefined;
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"));
globalThis.process = node;

let replies = [];
const port = { postMessage: (reply) => replies.push(reply) };
self.onmessage({ data: port });

let sequence = 0;
function ask(method, ...parts) {
  replies = [];
  const head = Buffer.from([8, ...varint(++sequence), 16, method]);
  port.onmessage({ data: new Uint8Array(field(1, Buffer.concat([head, ...parts]))) });
  const results = [];
  for (const reply of replies) {
    for (const [, message] of fields(reply)) {
      for (const [number, value] of fields(message)) {
        if (number === 5) throw new Error(decoded(value));
        if (number > 200) results.push(value);
      }
    }
  }
  return results;
}

function answers(trace) {
  const file = fs.openSync(trace);
  const chunk = Buffer.alloc(CHUNK);
  for (let read; (read = fs.readSync(file, chunk)) > 0; ) {
    for (const answer of ask(APPEND, field(101, chunk.subarray(0, read)))) {
      for (const [number, error] of fields(answer)) if (number === 2) throw new Error(decoded(error));
    }
  }
  ask(FINALIZE);
  const found = JSON.parse(queries).map((query) => rows(ask(QUERY, field(103, field(1, Buffer.from(query))))));
  ask(RESET, field(107, Buffer.alloc(0)));
  return found;
}

// The engine is ready once it has said so, which is after this script has ended.
setImmediate(() => console.log(JSON.stringify(traces.map(answers))));
