# %% [markdown]
# # the-paper
# %%
print(1)
