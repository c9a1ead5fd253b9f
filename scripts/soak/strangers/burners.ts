import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/** Starts as many processes as processors that only compute. @returns how to end them */
export function startBurners(): () => void {
  const burners = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
  );
  return () => {
    for (const burner of burners) burner.kill("SIGKILL");
  };
}
