// A virtual object that counts its steps.
import * as restate from "@restatedev/restate-sdk";

const counter = restate.object({
  name: "counter",
  handlers: {
    run: async (ctx, { steps }) => {
      for (let n = 0; n < steps; n++) {
        await ctx.run("step", () => 1);
        ctx.set("count", ((await ctx.get("count")) ?? 0) + 1);
      }
      return {};
    },
    steps: restate.handlers.object.shared(async (ctx) => ({
      steps: (await ctx.get("count")) ?? 0,
    })),
  },
});

await restate.serve({ services: [counter], port: Number(process.env.PORT) });
