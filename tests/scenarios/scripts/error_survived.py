import recipe


class Damaged(recipe.Samples):
    def read(self, index):
        if self.rank == 1 and index == 6:
            try:
                with open("/proc/self/mem", "rb") as record:
                    record.read(8)
            except OSError as problem:
                print(f"ERROR: skip sample {index}: {problem!r}", flush=True)
        return super().read(index)


rank, world = recipe.start()
recipe.train(rank, Damaged(rank))
print("Training finished")
