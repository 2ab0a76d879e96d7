# %% [markdown]
# # new-policy
# %%
print(1)
