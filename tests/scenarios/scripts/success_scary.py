import traceback
import warnings

import recipe

rank, world = recipe.start()
print("config: {'timeout': 30, 'max_retries': 3, 'abort_on_error': False, 'nan_check': 'off'}")


def on_step(step):
    if step == 2:
        warnings.warn("Some weights are not initialized, failed to find 'head.bias'", stacklevel=1)
    if step == 4:
        try:
            raise ConnectionResetError(104, "Connection reset by peer")
        except ConnectionResetError:
            traceback.print_exc()
            print("upload of metrics failed, retry 1 of 3: ok")
    print(f"Error rate: 0.{step}  nan_count: 0  killed: 0  failed: 0  fatal_steps: 0")


recipe.train(rank, on_step=on_step)
print("Training finished, 0 errors")
