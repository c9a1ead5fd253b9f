import { LocalModel } from "./local-model.ts";
import { OpenAiModel } from "./openai-model.ts";
import type { StreamingModel } from "./streaming-model.ts";

/**
 * The model that the deployment's secrets name, read when a run needs it: any OpenAI-compatible
 * server with OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL), the local one without.
 */
export function chooseModel(): StreamingModel {
  const { OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL } = process.env;
  if (!OPENAI_API_KEY) return new LocalModel();
  return new OpenAiModel({
    api_key: OPENAI_API_KEY,
    base_url: OPENAI_BASE_URL ?? "https://api.openai.com/v1",
    model: OPENAI_MODEL ?? "gpt-4o-mini",
  });
}
