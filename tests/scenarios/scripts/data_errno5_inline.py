import recipe


class Records(recipe.Samples):
    def read(self, index):
        if self.rank == 1 and index == 18:
            with open("/proc/self/mem", "rb") as records:
                return records.read(32)
        return super().read(index)


rank, world = recipe.start()
recipe.train(rank, Records(rank), workers=0)
