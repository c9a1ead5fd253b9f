// The HTTP server of services that bring none.
import { createServer } from "node:http";

/** POST /run and /enqueue with `key` and `steps`, GET /steps?key= */
export function serve({ run, enqueue, steps }) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://service.invalid");
    const answer = (status, body) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(JSON.stringify(body));
    };
    try {
      if (request.method === "GET")
        return answer(200, { steps: await steps(url.searchParams.get("key")) });
      let text = "";
      for await (const piece of request) text += piece;
      const { key, steps: count } = JSON.parse(text);
      answer(200, (await (url.pathname === "/run" ? run : enqueue)(key, count)) ?? {});
    } catch (error) {
      answer(500, { error: String(error?.stack ?? error) });
    }
  });
  server.listen(Number(process.env.PORT), "127.0.0.1");
}
