import type { Context } from "hono";
import { NONCE } from "hono/secure-headers";
import type { AppEnv } from "../../shared/context.ts";
import { router } from "../../shared/http/http.ts";
import { pageHeaders } from "../../shared/http/page-headers.ts";
import { toByteStream } from "../../shared/http/sse.ts";
import { missingPage, pageEnd, pageStart, spanItem } from "./page.ts";
import { openPage, PAGE_LIMITS, type SharedPage } from "./page-service.ts";
import { ShareParams } from "./share-schema.ts";

/** The public page of a trace, for people: `/public/{share_token}/r`. */
export const sharedPageRoutes = router();

const protect = pageHeaders({ styleSrc: [NONCE], imgSrc: ["data:"], formAction: ["'none'"] });
const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex, nofollow",
};

sharedPageRoutes.get("/public/:share_token/r", async (c) => {
  await protect(c, async () => {
    c.res = await page(c);
  });
  return c.res;
});

async function page(c: Context<AppEnv>): Promise<Response> {
  const nonce = c.var.secureHeadersNonce ?? "";
  const params = ShareParams.safeParse(c.req.param());
  const opened = params.success ? await openPage(c.env, params.data.share_token) : null;
  if (opened === null) return new Response(missingPage(nonce), { status: 404, headers: HEADERS });
  return new Response(toByteStream(partsOf(nonce, opened)), { headers: HEADERS });
}

async function* partsOf(nonce: string, { root, is_cut, spans }: SharedPage) {
  let run_count = 0;
  yield pageStart(nonce, root, PAGE_LIMITS);
  for await (const { span, texts } of spans) {
    run_count += 1;
    yield spanItem(span, texts);
  }
  yield pageEnd(run_count, is_cut);
}
