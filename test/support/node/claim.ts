// Claims a folder when a line arrives on stdin, prints whether it holds it, and keeps it until stdin closes.
import { type Claim, claim } from "../../../local/folder.ts";

process.stdout.write("ready\n");
process.stdin.once("data", async () => {
  const [path = "", name = "stack"] = process.argv.slice(2);
  const result = await claim(path, name as Claim).then(
    () => "held",
    (error: Error) => error.message,
  );
  process.stdout.write(`${result}\n`);
});
