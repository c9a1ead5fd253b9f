export type Body = { path: string; type: string; bytes: Uint8Array<ArrayBuffer> };

const BOUNDARY = "----heddle-bench";
const WORDS =
  "the agent reads a question about trains looks at two tables and answers with care".split(" ");
const encoder = new TextEncoder();

/** A POST /runs/batch of new runs of about this many bytes each. */
export function batchBody(session_name: string, runs: number, bytes: number): Body {
  const post = Array.from({ length: runs }, (_, n) => wireRun(session_name, n, bytes));
  const text = JSON.stringify({ post });
  return { path: "/runs/batch", type: "application/json", bytes: encoder.encode(text) };
}

/** The multipart form that the SDK sends: a part for each run and each payload. */
export function multipartBody(session_name: string, runs: number, bytes: number): Body {
  const texts: string[] = [];
  const add = (name: string, value: unknown) => {
    const json = JSON.stringify(value);
    const type = `application/json; length=${json.length}`;
    const head = `Content-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}`;
    texts.push(`--${BOUNDARY}\r\n${head}\r\n\r\n${json}\r\n`);
  };
  for (let n = 0; n < runs; n++) {
    const { inputs, outputs, extra, ...run } = wireRun(session_name, n, bytes);
    add(`post.${run.id}`, run);
    add(`post.${run.id}.inputs`, inputs);
    add(`post.${run.id}.outputs`, outputs);
    add(`post.${run.id}.extra`, extra);
  }
  texts.push(`--${BOUNDARY}--\r\n`);
  const type = `multipart/form-data; boundary=${BOUNDARY}`;
  return { path: "/runs/multipart", type, bytes: encoder.encode(texts.join("")) };
}

function wireRun(session_name: string, n: number, bytes: number) {
  const now = Date.now();
  const time = now.toString(16).padStart(12, "0");
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
  const start_time = new Date(now).toISOString().replace("Z", "000Z");
  const usage_metadata = { input_tokens: 120, output_tokens: 40, total_tokens: 160 };
  const metadata = { user_id: `u${n % 1000}`, thread_id: `t${n % 50}`, env: "prod" };
  const runtime = { sdk: "langsmith-js", platform: "node", library: "langsmith" };
  // A run has about 900 bytes beside its texts.
  const spare = Math.max(100, bytes - 900);
  return {
    ...{ id, trace_id: id, session_name, name: "ChatModel", run_type: "llm", start_time },
    end_time: new Date(now + 900).toISOString(),
    dotted_order: `${start_time.replaceAll(/[-:.]/g, "")}${id}`,
    inputs: {
      messages: [
        { role: "system", content: text(spare * 0.4) },
        { role: "user", content: text(spare * 0.3) },
      ],
    },
    outputs: {
      generations: [[{ text: text(spare * 0.3), message: { kwargs: { usage_metadata } } }]],
    },
    extra: { metadata: { ...metadata, ls_provider: "acme", ls_model_name: "m" }, runtime },
    tags: ["bench", `shard-${n % 10}`],
  };
}

function text(chars: number): string {
  let words = "";
  while (words.length < chars) words += `${WORDS[Math.floor(Math.random() * WORDS.length)]} `;
  return words.slice(0, chars);
}
