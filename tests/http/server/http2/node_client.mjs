// Sends requests with Node's HTTP/2 client, and prints what it received as JSON.
import { createHash } from "node:crypto";
import http2 from "node:http2";

const [origin, ca] = process.argv.slice(2);
const session = http2.connect(origin, ca ? { ca } : {});

const ask = (headers, { body, trailers, parts = 1, waits = false } = {}) =>
  new Promise((resolve, reject) => {
    const stream = session.request(headers, {
      endStream: body === undefined,
      waitForTrailers: trailers !== undefined,
    });
    const found = { sum: createHash("sha256"), size: 0 };
    stream.on("response", (head) => (found.status = head[":status"]));
    stream.on("data", (data) => {
      found.size += data.length;
      found.sum.update(data);
    });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.on("error", reject);
    stream.on("end", () => resolve({ ...found, sum: found.sum.digest("hex") }));
    const send = () => {
      const step = Math.ceil(body.length / parts);
      for (let at = 0; at < body.length; at += step) stream.write(body.subarray(at, at + step));
      stream.end();
    };
    if (waits) stream.on("continue", send);
    else if (body !== undefined) send();
  });

session.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
const large = Buffer.alloc(3_000_000, "abcdefgh");
const upload = { ":path": "/digest", ":method": "POST" };
console.log(
  JSON.stringify({
    parallel: await Promise.all([...Array(90).keys()].map((n) => ask({ ":path": `/${n}` }))),
    large: await ask({ ":path": "/large" }),
    uploads: await Promise.all([1, 2, 3].map(() => ask(upload, { body: large, parts: 40 }))),
    trailers: await ask(upload, { body: large, trailers: { "x-sum": "1" } }),
    expecting: await ask({ ...upload, expect: "100-continue" }, { body: large, waits: true }),
    head: await ask({ ":path": "/large", ":method": "HEAD" }),
    sent: createHash("sha256").update(large).digest("hex"),
  }),
);
session.close();
