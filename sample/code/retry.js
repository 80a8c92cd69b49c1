/** Calls `task` until it succeeds, waiting longer after each failure, with some randomness against stampedes. */
export async function retryWithBackoff(task, { attempts = 5, firstDelayMs = 100, random = Math.random } = {}) {
  let lastError;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    try {
      return await task(attempt);
    } catch (error) {
      lastError = error;
      const ceiling = firstDelayMs * 2 ** attempt;
      await sleep(ceiling * (0.5 + random() / 2));
    }
  }
  throw lastError;
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
