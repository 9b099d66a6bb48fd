// The other device: documents of the reference implementation, driven by JSON lines.
//
// Each line on stdin is a command {"op": ...}; each line on stdout is its answer, in order:
// {"value": ...}, or {"error": "..."} for what the library refused. Bytes are base64, indexes and
// lengths are UTF-16 code units.
import { createInterface } from 'node:readline'
import * as Y from 'yjs'

const ROOT = 'text'
const docs = new Map()

const bytes = (text) => Buffer.from(text, 'base64')
const base64 = (data) => Buffer.from(data).toString('base64')

const opened = (name) => {
  const doc = docs.get(name)
  if (doc === undefined) throw new Error(`there is no document ${name}`)
  return doc
}

const vector = (doc) => Object.fromEntries(Y.decodeStateVector(Y.encodeStateVector(doc)))

const isPending = ({ store }) => store.pendingStructs !== null || store.pendingDs !== null

// What stands in a fresh document after each of the updates.
const outcome = (updates) => {
  const doc = new Y.Doc()
  try {
    for (const update of updates) Y.applyUpdate(doc, bytes(update))
    return {
      text: doc.getText(ROOT).toString(),
      stateVector: vector(doc),
      pending: isPending(doc),
      roots: [...doc.share.keys()]
    }
  } catch (error) {
    return { error: String(error) }
  }
}

const operations = {
  new: ({ doc: name, client }) => {
    const doc = new Y.Doc()
    if (client !== undefined) doc.clientID = client
    doc.getText(ROOT)
    docs.set(name, doc)
  },
  close: ({ doc }) => void docs.delete(doc),
  apply: ({ doc, update }) => Y.applyUpdate(opened(doc), bytes(update)),
  insert: ({ doc, index, text }) => opened(doc).getText(ROOT).insert(index, text),
  delete: ({ doc, index, length }) => opened(doc).getText(ROOT).delete(index, length),
  text: ({ doc }) => opened(doc).getText(ROOT).toString(),
  state: ({ doc }) => base64(Y.encodeStateAsUpdate(opened(doc))),
  stateVector: ({ doc }) => base64(Y.encodeStateVector(opened(doc))),
  diff: ({ doc, stateVector }) => base64(Y.encodeStateAsUpdate(opened(doc), bytes(stateVector))),
  merge: ({ updates }) => base64(Y.mergeUpdates(updates.map(bytes))),
  pending: ({ doc }) => isPending(opened(doc)),
  outcomes: ({ cases }) => cases.map(outcome)
}

for await (const line of createInterface({ input: process.stdin })) {
  const { op, ...given } = JSON.parse(line)
  let answer
  try {
    answer = { value: operations[op](given) ?? null }
  } catch (error) {
    answer = { error: String(error) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
