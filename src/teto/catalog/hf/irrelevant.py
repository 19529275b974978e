"""Fields of a config.json that change neither parameters nor what a token reads, in any family."""

from typing import Final

__all__ = ["IRRELEVANT", "IRRELEVANT_OUTSIDE_TEXT"]

# Where files came from, and how they are loaded.
_PROVENANCE: Final = {
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_flash_attn_2_enabled",
    "_name_or_path", "_rope_scaling_validation", "architectures", "auto_map", "dtype",
    "finetuning_task", "id2label", "is_llama_config", "label2id",
    "original_max_position_embeddings", "prefix", "problem_type", "quantization_config",
    "return_dict", "task_specific_params", "tokenizer_class", "torch_dtype", "torchscript",
    "transformers.js_config", "transformers_version", "unsloth_fixed", "unsloth_version", "use_bfloat16",
}  # fmt: skip

# Token ids, and how text is drawn from the model.
_GENERATION: Final = {
    "bad_words_ids", "begin_suppress_tokens", "boi_token_index", "bos_token_id", "chunk_size_feed_forward",
    "decoder_start_token_id", "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "eoi_token_index", "eos_token_id", "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "ignore_index", "image_token_id", "image_token_index", "length_penalty", "max_length",
    "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_logits_to_keep",
    "num_return_sequences", "output_attentions", "output_hidden_states", "output_scores", "pad_token_id",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "sep_token_id", "suppress_tokens",
    "temperature", "top_k", "top_p", "typical_p", "unk_token_id", "use_cache", "video_token_id",
    "vision_end_token_id", "vision_start_token_id", "vision_token_id",
}  # fmt: skip

# Training: initial values, dropout, auxiliary losses, prediction layers (which are not counted).
_TRAINING: Final = {
    "attention_dropout", "attn_pdrop", "aux_loss_alpha", "classifier_dropout", "embd_pdrop", "ep_size",
    "hidden_dropout", "hidden_dropout_prob", "initializer_range",
    "mtp_hybrid_override_pattern", "mtp_layers_block_type", "mtp_num_hidden_layers", "mtp_transformer_layers",
    "mtp_use_dedicated_embeddings", "num_mtp_modules", "num_nextn_predict_layers", "output_router_logits",
    "pretraining_tp", "resid_pdrop", "rescale_prenorm_residual", "router_aux_loss_coef",
    "router_jitter_noise", "seq_aux", "tf_legacy_loss", "use_mtp",
}  # fmt: skip

# Arithmetic without parameters: positions, activations, scales, epsilons, routing rules, precision of a sum.
_ARITHMETIC: Final = {
    "attn_logit_softcapping", "embedding_multiplier",
    "final_logit_softcapping", "hidden_act", "hidden_activation", "initial_context_length", "is_decoder",
    "layer_norm_eps",
    "layer_norm_epsilon", "layernorm_epsilon", "logits_scaling", "mrope_interleaved", "n_group", "norm_eps",
    "norm_epsilon", "norm_topk_prob", "partial_rotary_factor",
    "query_pre_attn_scalar", "residual_in_fp32", "residual_multiplier", "rms_norm_eps", "rope_interleave",
    "rope_interleaved", "rope_local_base_freq", "rope_parameters", "rope_scaling", "rope_theta", "rope_type",
    "rotary_dim", "rotary_pct", "routed_scaling_factor", "scoring_func", "swiglu_alpha",
    "swiglu_limit", "topk_group", "use_mrope",
}  # fmt: skip

IRRELEVANT: Final = frozenset(_PROVENANCE | _GENERATION | _TRAINING | _ARITHMETIC)

# Beside a nested text_config: towers for other senses, which are not counted, and their tokens.
IRRELEVANT_OUTSIDE_TEXT: Final = IRRELEVANT | {
    "audio_config", "audio_token_id", "boa_token_id", "boi_token_id", "eoa_token_id", "eoa_token_index",
    "eoi_token_id", "image_placeholder", "language_model_only", "media_placeholder_token_id",
    "mm_tokens_per_image", "model_type", "multimodal_projector_bias", "projector_hidden_act",
    "projector_patch_merge_kernel", "spatial_merge_size", "text_config", "tie_word_embeddings",
    "use_unified_vision_chunk", "video_placeholder", "vision_config", "vision_feature_layer",
    "vision_soft_tokens_per_image",
}  # fmt: skip
