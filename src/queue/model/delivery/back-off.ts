export interface BackOff {
  readonly retryInitialDelayMs: number;
  readonly retryMultiplier: number;
  readonly retryMaxDelayMs: number;
}

const jitter = 0.1;

/**
 * How long a message waits after its n-th failed delivery: the initial delay times the multiplier for each earlier
 * failure, capped, then spread by ten per cent either way.
 *
 * @param fraction random, from 0 up to 1
 */
export function backOffMs(settings: BackOff, failures: number, fraction: number): number {
  const grown = settings.retryInitialDelayMs * settings.retryMultiplier ** Math.max(0, failures - 1);
  const capped = Math.min(grown, settings.retryMaxDelayMs);
  return Math.round(capped * (1 - jitter + 2 * jitter * fraction));
}
