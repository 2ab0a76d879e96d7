# %% [markdown]
# # log-to-service
# %%
print(1)
